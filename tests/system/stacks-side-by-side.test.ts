import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { node, repo, stackDir } from "../../tools/stack/paths.ts";
import { slot } from "../../tools/stack/slot.ts";
import { runStatement, doorOf, type ClientMachine, clientA } from "../kit/client.ts";
import { readEnvFile } from "../kit/stack-env.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";

const run = promisify(execFile);
const NAME = `beside-${slot}`;
const DIR = join(repo, ".stacks", NAME);
const besideStack = (...args: string[]) => run(node, [join(repo, "tools/stack/stack.ts"), ...args, "--name", NAME]);

const alice = tenant();
let own: number | undefined;

afterAll(async () => {
  await besideStack("down", "--wipe");
  if (own !== undefined) await alice.deleteSurely(own);
});

test("a second stack runs beside this one, and its removal leaves nothing behind", async () => {
  await besideStack("up", "--hosts", "1");
  const env = readEnvFile(join(DIR, "env"));
  const of = (name: string): string => env[name] ?? "";
  const bob = tenant(of("MOORAGE_TOKEN"), of("MOORAGE_URL"));
  const clientOfBob: ClientMachine = {
    namespace: of("MOORAGE_CLIENT_A"),
    address: of("MOORAGE_CLIENT_A_ADDR"),
    address6: of("MOORAGE_CLIENT_A_ADDR6"),
  };
  const labels = { own: `here-${Date.now()}`, beside: `beside-${Date.now()}` };
  own = (await alice.createSurely(labels.own)).id;
  const made = await bob.create(labels.beside, undefined, { allow_list: [clientOfBob.address] });
  const answer = (owner: Tenant, machine: ClientMachine, id: number) =>
    doorOf(owner, id).then((door) => runStatement(machine, door, "select 1"));
  await alice.untilStatus(own, "active", 120);
  await bob.untilStatus(made.body.id, "active", 120);

  expect(await answer(alice, clientA(), own)).toBe("1");
  expect(await answer(bob, clientOfBob, made.body.id)).toBe("1");
  expect((await bob.list()).map(({ label }) => label)).toEqual([labels.beside]);
  expect((await alice.list()).map(({ label }) => label)).not.toContain(labels.beside);

  const slotOfBeside = (await readFile(join(DIR, "slot"), "utf8")).trim();
  await besideStack("down", "--wipe");
  expect(existsSync(DIR)).toBe(false);
  expect(existsSync(`/sys/class/net/moor${slotOfBeside}`)).toBe(false);
  const spaces = await readdir("/run/netns");
  expect(spaces.filter((name) => name.startsWith(`moor${slotOfBeside}-`))).toEqual([]);
  expect(existsSync(stackDir)).toBe(true);
  expect(await answer(alice, clientA(), own)).toBe("1");
});
