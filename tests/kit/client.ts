import { execFile, spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { Outcome } from "@moorage/testkit/knock.ts";
import { node, repo } from "../../tools/stack/paths.ts";
import { env } from "./stack-env.ts";
import type { Tenant } from "./tenant.ts";

const run = promisify(execFile);

/** A machine of a tenant: on the network, but not a host. */
export type ClientMachine = { namespace: string; address: string; address6: string };

export const clientA = (): ClientMachine => clientMachineOf("A");
export const clientB = (): ClientMachine => clientMachineOf("B");
const clientMachineOf = (which: "A" | "B"): ClientMachine => ({
  namespace: env(`MOORAGE_CLIENT_${which}`),
  address: env(`MOORAGE_CLIENT_${which}_ADDR`),
  address6: env(`MOORAGE_CLIENT_${which}_ADDR6`),
});

/** How a tenant reaches a database; stored, so that it can be used when the control plane is down. */
export type Door = {
  name: string;
  privateName: string;
  port: number;
  username: string;
  password: string;
  ca: string;
};

export async function doorOf(owner: Tenant, id: number): Promise<Door> {
  const { hosts, port } = (await owner.view(id)).body;
  const { ca_certificate } = (await owner.ssl(id)).body;
  if (hosts.primary === null || hosts.secondary === null || port === null || ca_certificate === null)
    throw new Error(`Database ${id} cannot be reached yet: ${JSON.stringify({ hosts, port, ca_certificate })}`);
  const ca = join(await mkdtemp(join(tmpdir(), "moorage-ca-")), "ca.pem");
  await writeFile(ca, Buffer.from(ca_certificate, "base64"));
  return { name: hosts.primary, privateName: hosts.secondary, port, ca, ...(await owner.credentials(id)) };
}

/** With the resolver of that namespace: `nsenter` would keep the machine's. */
export const inside = ({ namespace }: Pick<ClientMachine, "namespace">, ...command: string[]): string[] => [
  "netns",
  "exec",
  namespace,
  ...command,
];

/** One statement with the real client, which verifies the server. Rows as lines, columns separated by tabs. */
export async function runStatement(
  machine: ClientMachine,
  door: Door,
  statement: string,
  {
    host = door.name,
    tls = ["--ssl-mode=VERIFY_IDENTITY", `--ssl-ca=${door.ca}`],
    seconds = 180,
    connectSeconds = 20,
  } = {},
): Promise<string> {
  const { stdout } = await run(
    "ip",
    inside(
      machine,
      env("MOORAGE_MYSQL"),
      "-N",
      "-B",
      "-h",
      host,
      "-P",
      String(door.port),
      "-u",
      door.username,
      ...tls,
      `--connect-timeout=${connectSeconds}`,
      "-e",
      statement,
    ),
    { env: { ...process.env, MYSQL_PWD: door.password }, timeout: seconds * 1000 },
  );
  return stdout.trim();
}

const program = (name: string): string => join(repo, "tests/kit/programs", `${name}.ts`);

/** One attempt to open a connection. */
export async function knock(machine: ClientMachine, host: string, port: number): Promise<Outcome> {
  const { stdout } = await run("ip", inside(machine, node, program("knock"), host, String(port), "2000"));
  return stdout.trim() as Outcome;
}

export const lookUp = async (machine: ClientMachine, name: string, type: "A" | "AAAA"): Promise<string[]> => {
  const { stdout } = await run("ip", inside(machine, "dig", "+short", "+time=60", "+tries=3", name, type));
  // It prints a comment for each try without an answer.
  return stdout
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith(";"))
    .sort();
};

/** A program that keeps running in a namespace and prints lines; `lines` grows as it does. */
export function start(machine: Pick<ClientMachine, "namespace">, name: string, input: object) {
  const child = spawn("ip", inside(machine, node, program(name), JSON.stringify(input)), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return {
    lines,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** An open, idle connection. Its program ends when the connection does, and prints when that was. */
export const hold = (machine: ClientMachine, door: Door) => start(machine, "hold", door);

export type Attempt = { at: number; open: boolean };

/** Tries to connect twenty times a second, and reports when each try began and whether it was admitted. */
export function watch(machine: ClientMachine, host: string, port: number) {
  const watching = start(machine, "watch", { host, port });
  // An admitted try is reported sooner than an earlier one that was not.
  const attempts = (): Attempt[] =>
    watching.lines.map((line) => JSON.parse(line) as Attempt).sort((one, other) => one.at - other.at);
  return { ...watching, attempts };
}

export type Connections = { made: number; failed: string[] };

/** A new connection each second, by hostname, for this long and until there were at least so many. */
export async function connectEachSecond(
  machine: ClientMachine,
  door: Door,
  { seconds, least }: { seconds: number; least: number },
): Promise<Connections> {
  await using connecting = start(machine, "connect-each-second", { ...door, seconds, least });
  await connecting.ended;
  return JSON.parse(connecting.lines.at(-1) ?? '{"made":0,"failed":["the program printed nothing"]}') as Connections;
}
