import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "@moorage/testkit/until.ts";
import { bridge, netName } from "../../tools/stack/addresses.ts";
import { node, repo, stackDir } from "../../tools/stack/paths.ts";
import { ownNamespaces } from "../kit/invariants.ts";
import { reach, sql } from "../kit/sql.ts";
import { tenant } from "../kit/tenant.ts";
import { defineDrill } from "./drill.ts";
import { trial } from "./trial.ts";

const command = promisify(execFile);
/** A busy machine takes ten times as long as usual; only what hangs takes longer. */
const UP_LIMIT_SECONDS = 900;

/** The stack leaves nothing behind after `down`, and `up` brings every database back. */
export const stackDownAndUp = defineDrill({
  name: "stack-down-up",
  question:
    "Does `pnpm stack down` leave nothing running, and does `pnpm stack up` bring the databases back from disk?",
  hosts: { least: 3 },
  short: {},
  long: {},
  extent: () => "1 trial",
  run: (run) =>
    trial(run, "`stack down` leaves nothing running, and `stack up` brings the databases back from disk", async () => {
      const alice = tenant();
      const { id } = await alice.createSurely(`kept-${Date.now()}`);
      await alice.untilStatus(id, "active", 120);
      const at = await reach(alice, id);
      await sql(
        at,
        "create database shop; create table shop.cakes (id int primary key); insert into shop.cakes values (9)",
      );

      const own = await ownNamespaces();
      const downSeconds = await stack("down");
      const left = await leftovers(own);
      const upSeconds = await stack("up", "--hosts", "3");
      if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
      if (upSeconds > UP_LIMIT_SECONDS) throw new Error(`up took ${upSeconds.toFixed(1)} s`);
      await until(
        "the node answers with its row",
        60,
        async () => (await sql(at, "select id from shop.cakes")) === "9",
      );
      await alice.deleteSurely(id);
      await alice.untilEvent(id, "database_delete", 120);
      return `down ${downSeconds.toFixed(1)} s, second up ${upSeconds.toFixed(1)} s`;
    }),
});

async function stack(...args: string[]): Promise<number> {
  const started = performance.now();
  await command(node, [join(repo, "tools/stack/stack.ts"), ...args]);
  return (performance.now() - started) / 1000;
}

/** Checked in the kernel, not in the stack's own records. Other stacks may be up. */
async function leftovers(ownNodes: ReadonlySet<string>): Promise<string[]> {
  const lines = async (program: string, ...args: string[]): Promise<string[]> =>
    (await command(program, args)).stdout.split("\n");
  const named = (found: readonly string[], kind: string): string[] =>
    found.filter(Boolean).map((name) => `${kind} ${name}`);
  return [
    ...named(processes(), "process"),
    ...named(
      (await readdir("/run/netns").catch(() => [])).filter(
        (name) => ownNodes.has(name) || [netName("host-"), netName("client-")].some((start) => name.startsWith(start)),
      ),
      "namespace",
    ),
    ...named(
      (await lines("ip", "-brief", "link")).filter((link) =>
        new RegExp(`^(${bridge} |${netName("[ch]-")}|mh-|mn-)`).test(link),
      ),
      "link",
    ),
    ...named(
      (await lines("findmnt", "-rno", "TARGET")).filter((target) => target.startsWith(`${stackDir}/`)),
      "mount",
    ),
    ...named(
      (await lines("losetup", "-ln", "-O", "NAME,BACK-FILE")).filter((line) => line.includes(`${stackDir}/`)),
      "loop device",
    ),
    ...named(
      (await lines("nft", "list", "tables")).filter((table) => table.includes("moor")),
      "table",
    ),
  ];
}

const processes = (): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return line.includes(`${stackDir}/`) ? [`${pid} ${line.slice(0, 80)}`] : [];
      } catch {
        return [];
      }
    });
