import { existsSync } from "node:fs";
import { parseArgs } from "node:util";

const usage = `pnpm stack runs every real part of Moorage on this machine, supervised, with simulated database hosts.

  pnpm stack up [--hosts N]   start what is not running; N hosts (kept from the last time, else 1)
  pnpm stack status           what runs, where it listens, where its log is
  pnpm stack stop SERVICE…    stop services
  pnpm stack start SERVICE…   start them again and wait for health
  pnpm stack kill SERVICE…    kill -9; the supervisor starts them again
  pnpm stack down [--wipe]    end everything; data is kept unless wiped

Every command takes --name NAME for a stack of its own beside others: own directory (.stacks/NAME), ports, networks and
namespaces. MOORAGE_STACK is the default of --name; tests and other programs find their stack by it.`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { hosts: { type: "string" }, name: { type: "string" }, wipe: { type: "boolean", default: false } },
});
const [command, ...names] = positionals;

try {
  // Every other module reads it once, when it is loaded.
  if (values.name !== undefined) process.env["MOORAGE_STACK"] = values.name;
  await runCommand();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function runCommand(): Promise<void> {
  const { inParts, inStack, stackDir, stackName } = await import("./paths.ts");
  if (command === "up") {
    if (process.getuid?.() !== 0) throw new Error("The stack makes network namespaces and containers: run it as root.");
    if (!existsSync(inParts("bin", "temporal-server"))) throw new Error("Parts are missing: run bin/setup first.");
    await (await import("./claim.ts")).claimSlot();
    const { up } = await import("./up.ts");
    return up(values.hosts === undefined ? undefined : Number(values.hosts));
  }
  if (command === "down") {
    if (stackName === "" || existsSync(stackDir)) return (await import("./down.ts")).down(values.wipe);
    return console.log(`There is no stack "${stackName}" here.`);
  }
  if (!existsSync(inStack("services"))) {
    console.log(command === "status" ? "The stack is down." : usage);
    process.exitCode = command === undefined ? 0 : 1;
    return;
  }
  if (command === "status") return (await import("./status.ts")).status();
  const { kill, start, stop, waitHealthy } = await import("./control.ts");
  if (command === "stop") return stop(names);
  if (command === "kill") return names.forEach(kill);
  if (command === "start") {
    await start(names);
    for (const name of names) await waitHealthy(name);
    return;
  }
  console.log(usage);
}
