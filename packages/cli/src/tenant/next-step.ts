import { listMysqlDatabases } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { clientOf, isSignedIn } from "../profiles/connection.ts";
import { texts } from "./texts.ts";

/** Suggests the tenant's next step. */
export async function tenantNextStep(
  env: Readonly<Record<string, string | undefined>>,
  profile: string | undefined,
): Promise<Text> {
  if (!isSignedIn(env, profile)) return texts.nextSignIn();
  const client = await clientOf(env, profile);
  const { data } = await client.call(listMysqlDatabases, { query: { page_size: 25 } });
  const [newest] = data.toSorted((one, other) => other.id - one.id);
  if (newest === undefined) return texts.nextCreate();
  const { label, status, allow_list } = newest;
  if (status === "provisioning") return texts.nextProvisioning({ label });
  return allow_list.length === 0 ? texts.nextAllowList({ label }) : texts.nextConnect({ label });
}
