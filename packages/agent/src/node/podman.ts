import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import Docker from "dockerode";
import { z } from "zod";

export type Podman = {
  client: Docker;
  /** Imports an image only once at a time, however many nodes wait for it. */
  ensureImage: (image: string, archive: string, sha256: string) => Promise<void>;
  limits: Limits;
};

export const nodeLabel = "moorage.node";
export const specLabel = "moorage.spec";
export const containerName = (node: string): string => `moorage-${node}`;
export const imageName = (engine: string, sha256: string): string => `localhost/moorage/${engine}:${sha256}`;

/** Retrying cannot help: a person must act, and the message says how. */
export class CannotHeal extends Error {
  override readonly name = "CannotHeal";
}

export async function openPodman(socketPath: string): Promise<Podman> {
  const client = new Docker({ socketPath });
  const imports = new Map<string, Promise<void>>();
  const ensureImage = async (image: string, archive: string, sha256: string) => {
    if (await isThere(client.getImage(image).inspect())) return;
    const running =
      imports.get(image) ?? importImage(client, image, archive, sha256).finally(() => imports.delete(image));
    imports.set(image, running);
    await running;
  };
  return { client, ensureImage, limits: await processLimits() };
}

async function importImage(client: Docker, image: string, archive: string, sha256: string): Promise<void> {
  await requireSha256(archive, sha256);
  // The whole name as `repo`: podman ignores `tag` here.
  const progress = await client.importImage(createReadStream(archive), { repo: image });
  await new Promise<void>((resolve, reject) => {
    client.modem.followProgress(progress, (error) => (error ? reject(error) : resolve()));
  });
}

export async function requireSha256(file: string, sha256: string): Promise<void> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new CannotHeal(`This host has no ${file}. Install the engine on the host.`);
  }
  const found = hash.digest("hex");
  if (found === sha256) return;
  throw new CannotHeal(`${file} has SHA-256 ${found}, but ${sha256} is required. Install that version of the engine.`);
}

/** Undefined if the object does not exist; any other error is thrown. */
export async function isThere<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}

/** "Not modified" (304) and "not found" (404) are success for a step that declares a desired state. */
export async function settled(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== 304 && statusCode !== 404) throw error;
  }
}

export type Limits = { nofile: number; nproc: number };

// A container's limits cannot exceed this process's; both are set, because podman picks values for absent ones.
async function processLimits(): Promise<Limits> {
  const table = await readFile("/proc/self/limits", "utf8");
  const hard = (name: string) => Number(new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, "m").exec(table)?.[1] ?? Infinity);
  return { nofile: Math.min(hard("Max open files"), 65_535), nproc: Math.min(hard("Max processes"), 5000) };
}

const Exit = z.object({ Actor: z.object({ Attributes: z.record(z.string(), z.string()) }) });

/** Reports a dead server at once. Only a hint: the reconciler checks every node every few seconds anyway. */
export async function watchExits(
  { client }: Podman,
  ended: (node: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // No filter by label: podman matches only labels with a given value.
  const filters = JSON.stringify({ type: ["container"], event: ["died"] });
  while (!signal.aborted) {
    try {
      const events = (await client.getEvents({ filters })) as Readable;
      const end = () => events.destroy();
      signal.addEventListener("abort", end, { once: true });
      for await (const line of createInterface({ input: events })) {
        const node = Exit.safeParse(JSON.parse(line)).data?.Actor.Attributes[nodeLabel];
        if (node !== undefined) ended(node);
      }
      signal.removeEventListener("abort", end);
    } catch {
      // podman's service is restarting, or the agent is closing
    }
    await sleep(1000, undefined, { signal }).catch(() => {});
  }
}
