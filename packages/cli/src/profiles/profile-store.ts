import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { Refused } from "../refused.ts";
import { texts as shared } from "../texts.ts";
import { texts } from "./texts.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const Profile = z.object({
  url: z.string(),
  /** A file with the authorities that sign the API's certificate, where the system does not trust them already. */
  ca: z.string().optional(),
  /** Only on a system without a keychain. */
  token: z.string().optional(),
  /** The authorization server that issued the token; `moorage logout` revokes it there. Missing for a pasted token. */
  issuer: z.string().optional(),
});
export type Profile = z.output<typeof Profile>;

const Profiles = z.object({ current: z.string().optional(), profiles: z.record(z.string(), Profile) });
export type Profiles = z.output<typeof Profiles>;

export const profilesFile = (env: Environment): string =>
  join(env["XDG_CONFIG_HOME"] ?? join(env["HOME"] ?? homedir(), ".config"), "moorage", "profiles.json");

export function readProfiles(env: Environment): Profiles {
  const file = profilesFile(env);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { profiles: {} };
    throw new Refused(shared.fileUnreadable({ path: file, reason: String(code) }));
  }
  try {
    return Profiles.parse(JSON.parse(text));
  } catch {
    throw new Refused(texts.fileInvalid({ file }));
  }
}

/** Written atomically, and readable only by the owner from the first byte on. */
export function writeProfiles(env: Environment, profiles: Profiles): void {
  const file = profilesFile(env);
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
}
