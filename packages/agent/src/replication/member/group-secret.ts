import { createHmac } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { readIfThere, writeDurably } from "../../base/durable-file.ts";
import type { MemberContext } from "./member-context.ts";
import { isAsynchronous } from "../../specs/member.ts";

/**
 * The password of the members' account. It differs on every timeline of an asynchronous cluster, so that a member of
 * an earlier timeline can never replicate from a server of a later one. A group identifies its members by its own name.
 */
export async function membersPassword(context: MemberContext): Promise<string> {
  const [password, { cluster }] = [await groupPassword(context), context.spec];
  if (cluster === undefined || !isAsynchronous(cluster)) return password;
  return createHmac("sha256", password).update(cluster.group).digest("hex").slice(0, longestPassword);
}

/** MySQL silently truncates a longer replication password. */
const longestPassword = 32;

/** Requested from the gateway once and stored: a host that boots without a control plane must be able to rejoin. */
async function groupPassword({ paths, spec, groupPassword: requestPassword }: MemberContext): Promise<string> {
  const kept = await readIfThere(paths.groupPassword);
  if (kept !== undefined && kept !== "") return kept;
  const password = await requestPassword(spec.node);
  await mkdir(paths.folder, { recursive: true });
  await writeDurably(paths.groupPassword, password);
  return password;
}
