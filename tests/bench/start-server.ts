import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { keyFile } from "../../tools/stack/keys.ts";
import { node, repo } from "../../tools/stack/paths.ts";
import { stackEnv } from "../kit/stack-env.ts";

export type Mode = "bare" | "open" | "whole";
export type BenchServer = { process: ChildProcess; url: string };

/** Starts one of the servers of server.ts in its own process, so that its CPU time can be measured separately. */
export async function startServer(mode: Mode, env: Record<string, string> = {}, accountId = 0): Promise<BenchServer> {
  const server = spawn(node, [join(repo, "tests/bench/server.ts"), mode, String(accountId)], {
    env: {
      ...process.env,
      ...stackEnv(),
      MOORAGE_KEYS_FILE: keyFile.sealing,
      MOORAGE_RATE_LIMITS: "off",
      NODE_ENV: "production",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const port = await new Promise<string>((resolve, reject) => {
    server.stdout?.once("data", (data: Buffer) => resolve(data.toString().trim()));
    server.once("exit", () => void text(server.stderr as NodeJS.ReadableStream).then((why) => reject(new Error(why))));
  });
  return { process: server, url: `http://127.0.0.1:${port}` };
}
