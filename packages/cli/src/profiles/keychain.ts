import { spawn } from "node:child_process";
import { platform } from "node:os";

type Environment = Readonly<Record<string, string | undefined>>;

export type Keychain = {
  name: string;
  /** False: the keychain refused to store it. */
  keep(profile: string, token: string): Promise<boolean>;
  find(profile: string): Promise<string | undefined>;
  forget(profile: string): Promise<void>;
};

const SERVICE = "moorage";

/** The system's keychain, used through its own program. Secrets go through standard input, never through arguments. */
export const keychainOf = (env: Environment, system: NodeJS.Platform = platform()): Keychain =>
  system === "darwin" ? macOs(env) : secretService(env);

const secretService = (env: Environment): Keychain => {
  const attributes = (profile: string): string[] => ["service", SERVICE, "profile", profile];
  const tool = (verb: string[], profile: string, input = ""): Promise<Ended> =>
    run(env, "secret-tool", [...verb, ...attributes(profile)], input);
  return {
    name: "the keychain (Secret Service)",
    keep: async (profile, token) => (await tool(["store", `--label=Moorage ${profile}`], profile, token)).code === 0,
    find: async (profile) => foundIn(await tool(["lookup"], profile)),
    forget: async (profile) => void (await tool(["clear"], profile)),
  };
};

const macOs = (env: Environment): Keychain => {
  /** `security -i` reads commands from standard input, so that no secret is in its arguments. */
  const security = (command: string): Promise<Ended> => run(env, "security", ["-i"], `${command}\n`);
  const item = (profile: string): string => `-s ${SERVICE} -a ${quoted(profile)}`;
  return {
    name: "the keychain",
    keep: async (profile, token) =>
      (await security(`add-generic-password -U ${item(profile)} -w ${quoted(token)}`)).code === 0,
    find: async (profile) =>
      foundIn(await run(env, "security", ["find-generic-password", "-s", SERVICE, "-a", profile, "-w"], "")),
    forget: async (profile) => void (await security(`delete-generic-password ${item(profile)}`)),
  };
};

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;

type Ended = { code: number | null; stdout: string };
const foundIn = ({ code, stdout }: Ended): string | undefined => (code === 0 ? stdout.trim() || undefined : undefined);

/** Null: the program does not exist. */
const run = (env: Environment, program: string, args: readonly string[], input: string): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "ignore"] });
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.on("error", () => resolve({ code: null, stdout: "" }));
    child.on("close", (code) => resolve({ code, stdout }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
