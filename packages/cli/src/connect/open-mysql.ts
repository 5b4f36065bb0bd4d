import { execFile, spawn } from "node:child_process";
import { createCipheriv, randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Refused } from "../refused.ts";
import { texts } from "./texts.ts";

export type Reached = {
  host: string;
  port: number;
  username: string;
  password: string;
  /** The authority that signs the server's certificate; null for a database that does not require TLS. */
  ca: string | null;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs `mysql` in this terminal and returns its exit code. */
export async function openMysql(
  command: string,
  { host, port, username, password, ca }: Reached,
  more: readonly string[],
  env: Environment,
): Promise<number> {
  const [program = "mysql", ...before] = command.split(/\s+/).filter(Boolean);
  await requireMysql(program, before, env);
  const folder = mkdtempSync(join(tmpdir(), "moorage-"));
  try {
    const authority = join(folder, "ca.pem");
    if (ca !== null) writeFileSync(authority, ca);
    const tls = ca === null ? ["--ssl-mode=PREFERRED"] : ["--ssl-mode=VERIFY_IDENTITY", `--ssl-ca=${authority}`];
    const where = ["--protocol=TCP", `--host=${host}`, `--port=${port}`, `--user=${username}`];
    return await withPassword(folder, password, (secret) =>
      run(program, [...before, ...where, ...tls, ...more], secret, env),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** MariaDB's client has the same name but other options, and would not verify the server's certificate. */
async function requireMysql(program: string, before: readonly string[], env: Environment): Promise<void> {
  const { stdout } = await promisify(execFile)(program, [...before, "--version"], { env }).catch((error: Error) => {
    throw new Refused(texts.clientNotStarted({ program, reason: error.message.trim() }));
  });
  if (stdout.includes("MariaDB")) throw new Refused(texts.clientIsMariadb({ program }));
}

/** The file is unlinked before the program starts: no password is left behind, even if this process is killed. */
async function withPassword(folder: string, password: string, use: (fd: number) => Promise<number>): Promise<number> {
  const path = join(folder, "login.cnf");
  writeFileSync(path, loginFile(password), { mode: 0o600 });
  const fd = openSync(path, "r");
  rmSync(path);
  try {
    return await use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * MySQL's login path file with one password. It takes precedence over other option files, and it is the only way to
 * pass a password without arguments, environment or prompt. Its cipher hides nothing: the file contains the key.
 */
export function loginFile(password: string): Buffer {
  const folded = randomBytes(20);
  const key = Buffer.alloc(16);
  for (const [index, byte] of folded.entries()) key[index % 16] = (key[index % 16] ?? 0) ^ byte;
  const line = (text: string): Buffer => {
    const cipher = createCipheriv("aes-128-ecb", key, null);
    const hidden = Buffer.concat([cipher.update(text), cipher.final()]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(hidden.length);
    return Buffer.concat([length, hidden]);
  };
  const escaped = password.replaceAll(/["\\]/g, "\\$&");
  return Buffer.concat([Buffer.alloc(4), folded, line("[client]\n"), line(`password = "${escaped}"\n`)]);
}

const run = (program: string, args: readonly string[], secret: number, env: Environment): Promise<number> =>
  new Promise((resolve, reject) => {
    // Ctrl-C is for mysql, which then cancels the running statement.
    const ignore = (): void => {};
    process.on("SIGINT", ignore);
    const child = spawn(program, args, {
      stdio: ["inherit", "inherit", "inherit", secret],
      // A path by descriptor, which only the started program can open.
      env: { ...env, MYSQL_TEST_LOGIN_FILE: "/dev/fd/3" },
    });
    child.on("error", reject);
    child.on("close", (code) => {
      process.off("SIGINT", ignore);
      resolve(code ?? 1);
    });
  });
