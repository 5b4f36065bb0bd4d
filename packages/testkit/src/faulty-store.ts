import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import type { ObjectStore } from "./object-store.ts";

export type StoreFault =
  | { kind: "slow"; ms: number }
  | { kind: "busy" }
  /** The connection ends after this much of the body. */
  | { kind: "cut"; way: "up" | "down"; after: number }
  | { kind: "flip"; way: "up" | "down"; at: number };
/** Called for every request, which waits for the result. */
export type FaultPlan = (method: string, path: string) => StoreFault | undefined | Promise<StoreFault | undefined>;

/** An object store behind a bad network. Holders of its presigned addresses reach the store directly. */
export async function startFaultyStore(store: Pick<ObjectStore, "settings">) {
  let plan: FaultPlan = () => undefined;
  const passed: string[] = [];
  const target = new URL(store.settings.url);
  const strike = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const path = incoming.url ?? "/";
    const fault = await plan(incoming.method ?? "", path);
    if (fault !== undefined) passed.push(`${fault.kind} ${incoming.method} ${path}`);
    if (fault?.kind === "busy") return answerBusy(incoming, outgoing);
    if (fault?.kind === "slow") setTimeout(() => pass(target, incoming, outgoing), fault.ms);
    else pass(target, incoming, outgoing, fault);
  };
  const proxy = createServer((incoming, outgoing) => void strike(incoming, outgoing));
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    settings: { ...store.settings, url, public_url: store.settings.url },
    /** The faults that were injected. */
    passed,
    plan: (next: FaultPlan): void => {
      plan = next;
    },
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
export type FaultyStore = Awaited<ReturnType<typeof startFaultyStore>>;

function answerBusy(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  outgoing.writeHead(503, { "content-type": "application/xml", connection: "close" });
  outgoing.end("<Error><Code>SlowDown</Code><Message>Later.</Message></Error>");
}

type Mangling = Exclude<StoreFault, { kind: "slow" | "busy" }>;

function pass(target: URL, incoming: IncomingMessage, outgoing: ServerResponse, fault?: Mangling): void {
  const { method, url: path, headers } = incoming;
  const onward = request({ hostname: target.hostname, port: target.port, method, path, headers, agent: false });
  const cut = (): void => {
    onward.destroy();
    if (outgoing.socket instanceof Socket) outgoing.socket.destroy();
  };
  onward.on("error", cut);
  outgoing.on("close", () => onward.destroy());
  onward.on("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    carry(answer, outgoing, fault?.way === "down" ? fault : undefined, cut);
  });
  carry(incoming, onward, fault?.way === "up" ? fault : undefined, cut);
}

type Sink = {
  write: (piece: Buffer) => boolean;
  end: () => unknown;
  once: (event: "drain", listener: () => void) => unknown;
};

function carry(from: IncomingMessage, to: Sink, fault: Mangling | undefined, cut: () => void): void {
  let seen = 0;
  from.on("error", cut);
  from.on("aborted", cut);
  from.on("data", (piece: Buffer) => {
    const [start, end] = [seen, seen + piece.length];
    seen = end;
    if (fault?.kind === "cut" && end > fault.after) {
      to.write(piece.subarray(0, Math.max(fault.after - start, 0)));
      setTimeout(cut, 5);
      return;
    }
    if (fault?.kind === "flip" && fault.at >= start && fault.at < end)
      piece[fault.at - start] = (piece[fault.at - start] ?? 0) ^ 0x40;
    if (to.write(piece)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  from.on("end", () => {
    if (fault?.kind === "cut" && seen > fault.after) return;
    to.end();
  });
}
