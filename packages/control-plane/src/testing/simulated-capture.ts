import { createHash, randomUUID } from "node:crypto";
import type { Capture, CaptureReport, UploadsReply, DesiredReply } from "@moorage/contract/agent";
import { chunkName, createCutter, MANIFEST } from "@moorage/disk-image";
import type { Gateway, Identity } from "./gateway.ts";

export type CapturingHost = ReturnType<typeof simulateCaptures>;

/** A host whose agent speaks the real protocol of captures, and has the disks that the test adds. */
export function simulateCaptures(gateway: Gateway, host: Identity & { id: number; name: string }) {
  const known = new Map<string, Capture>();
  /** By their device. */
  const disks = new Map<string, Buffer>();

  const addresses = async (capture: string, content: string, names: string[]): Promise<string[]> => {
    const { body } = await gateway.post<UploadsReply>(host, "/v1/image-uploads", { capture, content, names });
    return body.urls;
  };
  const put = async (capture: string, content: string, name: string, body: Buffer): Promise<void> => {
    const [url = ""] = await addresses(capture, content, [name]);
    const md5 = createHash("md5").update(body).digest("base64");
    const { status } = await fetch(url, {
      method: "PUT",
      body: Uint8Array.from(body),
      headers: { "content-md5": md5 },
    });
    if (status !== 200) throw new Error(`The object store answered ${status}.`);
  };

  return {
    ...host,
    known,
    disks,
    put,
    /** Polls with the captures that it knows; an older agent sends none. */
    async poll({ patient = false, old = false } = {}): Promise<DesiredReply> {
      // Without changes, the test need not wait for the long poll's end.
      const impatience = setInterval(() => patient || gateway.wakeups.wake(host.id), 50);
      const request = {
        epoch: 1,
        revision: 0,
        agent: "simulated",
        boot: "b",
        now: new Date().toISOString(),
        trash_mb: 0,
      };
      const { body: reply } = await gateway
        .post<DesiredReply>(host, "/v1/desired", { ...request, ...(old ? {} : { captures: [...known.keys()] }) })
        .finally(() => clearInterval(impatience));
      if (reply.captures === undefined) return reply;
      known.clear();
      for (const capture of reply.captures as Capture[]) known.set(capture.id, capture);
      return reply;
    },
    report: (...captures: CaptureReport[]) =>
      gateway.post(host, "/v1/observed", { complete: false, nodes: [], unknown: [], captures }),
    /** Writes the disk of a capture to the store, and returns what an agent would report. */
    async store({ id, device }: Capture, raw = disks.get(device)): Promise<CaptureReport> {
      if (raw === undefined) return { id, state: "failed", percent: 0, message: "The disk is not there." };
      const content = randomUUID();
      const cutter = createCutter({ put: ({ index, body }) => put(id, content, chunkName(index), body) });
      await cutter.write(raw);
      await put(id, content, MANIFEST, Buffer.from(JSON.stringify(await cutter.end())));
      return { id, state: "done", percent: 100, content };
    },
  };
}
