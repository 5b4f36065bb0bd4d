import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { networkDelayMs } from "./try-again.ts";

export class UploadFailed extends Error {
  override readonly name = "UploadFailed";
}

/** Bytes in memory, or a file that nobody changes. The store checks `md5` and refuses what arrived corrupted. */
export type Body = { bytes: number; md5: string } & ({ buffer: Buffer } | { path: string });

const tries = 6;
/** Addresses requested at once: unused ones cost nothing. */
const requestedAhead = 8;

type Address = { url: string; headers: Record<string, string> };
/** The headers are part of the signatures, and belong to each. */
type Given = { urls: string[]; headers?: Record<string, string> | undefined };

/**
 * Puts objects into the store at addresses requested by name. The host has no credentials for the store; the gateway
 * refuses addresses to a node that it knows to be outdated.
 */
export function createPuts(addressesOf: (names: string[]) => Promise<Given>, signal: AbortSignal) {
  const dispatcher = new Agent({ connections: 2, connect: { timeout: 5000 }, headersTimeout: 120_000 });
  const known = new Map<string, Promise<Address>>();

  function requestAddresses(names: readonly string[]): void {
    const addresses = addressesOf([...names]);
    for (const [index, name] of names.entries()) {
      const address = addresses.then(({ urls, headers = {} }) => {
        const url = urls[index];
        if (url === undefined) throw new UploadFailed(`No address for ${name}.`);
        return { url, headers };
      });
      address.catch(() => {}); // the address of an unused name
      known.set(name, address);
    }
  }

  async function put(name: string, body: Body): Promise<void> {
    const address = known.get(name);
    known.delete(name);
    const { url, headers } = (await address) as Address;
    const { statusCode, body: answer } = await request(url, {
      dispatcher,
      method: "PUT",
      headers: { ...headers, "content-length": `${body.bytes}`, "content-md5": body.md5 },
      body: "buffer" in body ? body.buffer : createReadStream(body.path),
      signal,
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new UploadFailed(`The object store answered ${statusCode}: ${text.slice(0, 200)}`);
  }

  return {
    /** `ahead`: names that will probably be needed next. */
    async put(name: string, body: Body, ahead: (n: number) => string[] = () => []): Promise<void> {
      for (let attempt = 0; ; attempt++) {
        try {
          // Requested again after each failure: the address may have expired.
          if (!known.has(name)) requestAddresses([name, ...(attempt === 0 ? ahead(requestedAhead - 1) : [])]);
          return await put(name, body);
        } catch (error) {
          signal.throwIfAborted();
          if (attempt + 1 >= tries) throw error;
          await sleep(networkDelayMs(attempt), undefined, { signal });
        }
      }
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
export type Puts = ReturnType<typeof createPuts>;
