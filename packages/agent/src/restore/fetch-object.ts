import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import type { Recipe } from "@moorage/contract/agent";
import { networkDelayMs } from "../base/try-again.ts";

/** The archive is damaged or incomplete; a retry would fail the same way. */
export class BrokenArchive extends Error {
  override readonly name = "BrokenArchive";
}

/** The object store is unreachable; this says nothing about its contents. */
export class StoreAway extends Error {
  override readonly name = "StoreAway";
}

export type StoredObject = {
  /** For error messages. */
  name: string;
  /** Called for each request: presigned URLs expire and are renewed. */
  url: () => Promise<string>;
  /** Discards an expired URL. */
  renew: () => void;
  sha256: string;
};

/** The size of a part of a base copy: a part is fetched completely and verified before any of it is used. */
const chunkBytes = 8 * 1024 * 1024;
const tries = 8;

/** Reads an object of any size in constant memory. The last chunk is held back until the SHA-256 is verified. */
export async function* readObject(
  object: StoredObject & { bytes: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const hash = createHash("sha256");
  for (let from = 0; from < object.bytes; from += chunkBytes) {
    const to = Math.min(from + chunkBytes, object.bytes);
    const chunk = await fetchBytes(object, signal, `bytes=${from}-${to - 1}`);
    if (chunk.length !== to - from)
      throw new BrokenArchive(`${object.name} is shorter than it was when it was stored.`);
    hash.update(chunk);
    if (to === object.bytes) requireHash(object, hash.digest("hex"));
    yield chunk;
  }
}

/** Fetches the next chunk while the current one is used, at the cost of one more chunk in memory. */
export async function* ahead<T>(chunks: AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
  let next = chunks.next();
  for (;;) {
    const { done, value } = await next;
    if (done) return;
    next = chunks.next();
    next.catch(() => {}); // thrown by the next await
    yield value;
  }
}

/** For small objects only: the whole object is in memory. */
export async function readSmallObject(object: StoredObject, signal: AbortSignal): Promise<string> {
  const bytes = await fetchBytes(object, signal);
  requireHash(object, createHash("sha256").update(bytes).digest("hex"));
  return bytes.toString("utf8");
}

function requireHash({ name, sha256 }: StoredObject, found: string): void {
  if (found === sha256) return;
  throw new BrokenArchive(`${name} is damaged: its SHA-256 is ${found}, but ${sha256} was stored.`);
}

async function fetchBytes(object: StoredObject, signal: AbortSignal, range?: string): Promise<Buffer> {
  let refused = 0;
  for (let attempt = 0; ; attempt++) {
    const answer = await fetchRange(await object.url(), signal, range);
    signal.throwIfAborted();
    if (answer.kind === "bytes") return answer.bytes;
    if (answer.status === 404) throw new BrokenArchive(`${object.name} is missing from the object store.`);
    if (answer.status === 416) throw new BrokenArchive(`${object.name} is shorter than it was when it was stored.`);
    if (answer.status === 403 || answer.status === 400) {
      if (++refused > 2) throw new BrokenArchive(`The object store refuses ${object.name}: ${answer.why}`);
      object.renew();
    }
    if (attempt + 1 >= tries) throw new StoreAway(`${object.name} could not be read: ${answer.why}`);
    await sleep(networkDelayMs(attempt), undefined, { signal });
  }
}

type Answer = { kind: "bytes"; bytes: Buffer } | { kind: "none"; status?: number; why: string };

async function fetchRange(url: string, signal: AbortSignal, range?: string): Promise<Answer> {
  try {
    const { statusCode, body } = await request(url, {
      headers: range === undefined ? {} : { range },
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
      signal,
    });
    if (statusCode === 206 || (statusCode === 200 && range === undefined))
      return { kind: "bytes", bytes: Buffer.from(await body.arrayBuffer()) };
    return { kind: "none", status: statusCode, why: `${statusCode}: ${(await body.text()).slice(0, 200)}` };
  } catch (error) {
    return { kind: "none", why: String(error) };
  }
}

/** The recipe's URLs expire during a long restore; the recipe is then requested again. It yields the same data. */
export function recipeSource(requestRecipe: () => Promise<Recipe>) {
  let known: Promise<Recipe> | undefined;
  const get = (): Promise<Recipe> => {
    const pending = known ?? requestRecipe();
    known = pending;
    pending.catch(() => {
      if (known === pending) known = undefined;
    });
    return pending;
  };
  return {
    get,
    renew: (): void => {
      known = undefined;
    },
  };
}
export type RecipeSource = ReturnType<typeof recipeSource>;
