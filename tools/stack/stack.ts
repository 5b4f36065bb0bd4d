import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { kill, start, stop, waitHealthy } from "./control.ts";
import { down } from "./down.ts";
import { inStack } from "./places.ts";
import { status } from "./status.ts";
import { up } from "./up.ts";

const usage = `pnpm stack runs every real part of Moorage on this machine, supervised, with simulated database hosts.

  pnpm stack up [--hosts N]   start what is not running; N hosts (kept from the last time, else 1)
  pnpm stack status           what runs, where it listens, where its log is
  pnpm stack stop NAME…       stop services
  pnpm stack start NAME…      start them again and wait for health
  pnpm stack kill NAME…       kill -9; the supervisor starts them again
  pnpm stack down [--wipe]    end everything; data is kept unless wiped`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { hosts: { type: "string" }, wipe: { type: "boolean", default: false } },
});
const [command, ...names] = positionals;

try {
  await runCommand();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function runCommand(): Promise<void> {
  if (command === "up") return up(values.hosts === undefined ? undefined : Number(values.hosts));
  if (command === "down") return down(values.wipe);
  if (!existsSync(inStack("services"))) {
    console.log(command === "status" ? "The stack is down." : usage);
    process.exitCode = command === undefined ? 0 : 1;
    return;
  }
  if (command === "status") return status();
  if (command === "stop") return stop(names);
  if (command === "kill") return names.forEach(kill);
  if (command === "start") {
    await start(names);
    for (const name of names) await waitHealthy(name);
    return;
  }
  console.log(usage);
}
