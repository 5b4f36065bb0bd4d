import { existsSync, readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { isClaimed, releaseSlot } from "./claim.ts";
import { kill, pidOf, stop } from "./control.ts";
import { endProxies } from "./proxies.ts";
import { type Host, hostsUpTo } from "./hosts.ts";
import { removeNetwork } from "./network.ts";
import { engineFact } from "./image-store.ts";
import { inStack, stackDir } from "./paths.ts";
import { removeContainers } from "./podman.ts";
import { attempt, run } from "./run.ts";
import { hosts } from "./services.ts";
import { slot, volatileDir } from "./slot.ts";
import { endSupervisor, ours } from "./supervisor.ts";

/**
 * Stops and removes everything that runs; data on disk stay unless they are to be wiped. Every step tolerates that its
 * target is missing.
 */
export async function down(wipe: boolean): Promise<void> {
  const started = Date.now();
  const known = existsSync(inStack("hosts")) ? hosts() : hostsUpTo(0);
  await stopServices();
  await endProxies(known);
  const image = await engineFact("sha256").catch(() => "");
  await Promise.all(known.map((host) => removeContainers(host, image)));
  await endSupervisor();
  const left = await releaseMachine(known, wipe);
  left.push(...ours().map((pid) => `process ${pid}`));
  if (left.length > 0) throw new Error(`Left behind: ${left.join(", ")}.`);
  await rm(inStack("services"), { recursive: true, force: true });
  if (wipe) await rm(stackDir, { recursive: true, force: true });
  console.log(`Down in ${((Date.now() - started) / 1000).toFixed(1)} s; ${wipe ? "nothing is kept" : "data is kept"}.`);
}

/**
 * Agents stop first, because they would restore what is being removed; Postgres last, because the others still write to
 * it.
 */
async function stopServices(): Promise<void> {
  const all = existsSync(inStack("services")) ? readdirSync(inStack("services")) : [];
  const running = all.filter((name) => pidOf(name) !== undefined);
  const agents = running.filter((name) => name.startsWith("agent-"));
  const last = running.filter((name) => name === "postgres");
  const podmans = running.filter((name) => name.startsWith("podman-"));
  const early = new Set([...agents, ...podmans, ...last]);
  for (const group of [agents, running.filter((name) => !early.has(name)), podmans, last]) {
    // Without its supervisor sv cannot stop a process, and a running agent would undo the next steps.
    await stop(group).catch(() => group.filter((name) => pidOf(name) !== undefined).forEach(kill));
  }
}

/** Returns what could not be removed. */
async function releaseMachine(known: readonly Host[], wipe: boolean): Promise<string[]> {
  await unmountAll();
  const left = [
    ...(await mountsOfOurs()).map((mountPoint) => `mount ${mountPoint}`),
    ...(await loopDevicesOfOurs()).map((device) => `loop device ${device}`),
  ];
  if (!isClaimed(slot)) return left;
  left.push(...(await removeNetwork(known)));
  if (left.length === 0) await releaseSlot(slot, wipe);
  return left;
}

/** Deepest first, so that nested mounts are unmounted before their parents. */
async function unmountAll(): Promise<void> {
  for (const mountPoint of await mountsOfOurs()) await attempt("umount", [mountPoint]);
  for (const mountPoint of await mountsOfOurs()) await attempt("umount", ["--lazy", mountPoint]);
  for (const device of await loopDevicesOfOurs()) await attempt("losetup", ["--detach", device]);
}

const ourFolders = (): string[] => (isClaimed(slot) ? [stackDir, volatileDir] : [stackDir]);

async function mountsOfOurs(): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  const mountPoints = lines.map((line) => (line.split(" ")[4] ?? "").replaceAll("\\040", " "));
  return mountPoints
    .filter((mountPoint) => ourFolders().some((folder) => mountPoint.startsWith(`${folder}/`)))
    .sort((a, b) => b.length - a.length);
}

type LoopDevice = { name: string; "back-file": string | null; autoclear: boolean };

/**
 * Ignores devices that were detached and free themselves: a mount namespace of another stack or test that was created
 * while the device was mounted here still has a copy of the mount. The kernel frees the device when that namespace
 * ends.
 */
async function loopDevicesOfOurs(): Promise<string[]> {
  const text = await run("losetup", ["--json", "--list", "--output", "NAME,BACK-FILE,AUTOCLEAR"]);
  if (text.trim() === "") return [];
  const { loopdevices } = JSON.parse(text) as { loopdevices: LoopDevice[] };
  const held = loopdevices.filter((each) => each["back-file"]?.startsWith(`${stackDir}/`) && !each.autoclear);
  return held.map((each) => each.name);
}
