import { X509Certificate } from "node:crypto";
import { MemberView } from "@moorage/contract/agent";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { Agent, request } from "undici";
import { z } from "zod";
import { keyHashOf } from "../gateway/revoked-keys.ts";
import type { HostIdentity } from "./identity.ts";

const Question = z.object({ nodes: z.array(z.uuid()).max(1000) });
const Answer = z.object({ views: z.array(MemberView) });
/** A thousand nodes in a question, and the same number of views in an answer, are less. */
const [questionBytes, answerBytes] = [64 * 1024, 16 * 1024 * 1024];
/** A slower answer counts as none. */
const answerWithinMs = 1000;

class TooLong extends Error {}

async function question(req: IncomingMessage): Promise<string[]> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > questionBytes) throw new TooLong();
    parts.push(part);
  }
  return Question.parse(JSON.parse(Buffer.concat(parts).toString("utf8"))).nodes;
}

/**
 * Serves the views of this host's members to other hosts. `viewFor` decides which host may read which member, by the
 * name in that host's certificate. It listens on the given addresses and on no others. A revoked key gets no answer, on
 * whichever connection.
 */
export function servePeers(
  identity: HostIdentity,
  viewFor: (node: string, host: string) => MemberView | undefined,
  { port, isRevoked }: { port: number; isRevoked: (key: string) => boolean },
) {
  const servers = new Map<string, Server>();
  let current = identity;

  async function open(address: string): Promise<void> {
    const server = createServer({ ...current, requestCert: true, rejectUnauthorized: true }, (req, res) => {
      const socket = req.socket as TLSSocket;
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined || isRevoked(keyHashOf(certificate))) return void socket.destroy();
      const host = socket.getPeerCertificate().subject?.CN;
      const answer = async (): Promise<string> => {
        const nodes = await question(req);
        const views = typeof host === "string" ? nodes.flatMap((node) => viewFor(node, host) ?? []) : [];
        return JSON.stringify({ views } satisfies z.input<typeof Answer>);
      };
      answer().then(
        (text) => res.end(text),
        (error: unknown) => res.writeHead(error instanceof TooLong ? 413 : 400, { connection: "close" }).end(),
      );
    });
    server.keepAliveTimeout = 30_000;
    server.requestTimeout = 5000;
    await new Promise<void>((resolve, reject) => void server.once("error", reject).listen(port, address, resolve));
    servers.set(address, server);
  }

  function end(address: string, server: Server): void {
    servers.delete(address);
    server.close();
    server.closeAllConnections();
  }

  return {
    /** Throws if an address is not one of this host's, or not yet. */
    async listenOn(addresses: readonly string[]): Promise<void> {
      for (const [address, server] of servers) if (!addresses.includes(address)) end(address, server);
      const opened = await Promise.allSettled(addresses.filter((each) => !servers.has(each)).map(open));
      for (const outcome of opened) if (outcome.status === "rejected") throw outcome.reason;
    },
    use(next: HostIdentity): void {
      current = next;
      for (const server of servers.values()) server.setSecureContext(next);
    },
    close(): void {
      for (const [address, server] of servers) end(address, server);
    },
  };
}

/** Queries another host for its members' views, over one connection on which that host proves its identity. */
export function connectPeer(
  identity: HostIdentity,
  { host, address }: { host: string; address: string },
  { port, isRevoked }: { port: number; isRevoked: (key: string) => boolean },
) {
  const dispatcher = new Agent({
    connections: 1,
    connect: {
      ...identity,
      timeout: answerWithinMs,
      checkServerIdentity: (_, { subject, raw }) => {
        if (isRevoked(keyHashOf(new X509Certificate(raw)))) return new Error(`The key of ${host} was revoked.`);
        return subject?.CN === host ? undefined : new Error(`${address} is ${String(subject?.CN)}, not ${host}.`);
      },
    },
    keepAliveTimeout: 20_000,
    maxResponseSize: answerBytes,
  });
  return {
    /** `at`: when the views were requested, so they may be younger but never older. */
    async views(nodes: string[]): Promise<{ at: number; views: MemberView[] }> {
      const at = performance.now();
      const { statusCode, body } = await request(`https://${address}:${port}/views`, {
        dispatcher,
        method: "POST",
        body: JSON.stringify({ nodes } satisfies z.input<typeof Question>),
        signal: AbortSignal.timeout(answerWithinMs),
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${host} answered ${statusCode}.`);
      return { at, ...Answer.parse(JSON.parse(text)) };
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
export type Peer = ReturnType<typeof connectPeer>;

/** The host is up and its port is closed: its gatekeeper has just ended. An isolated host does not answer at all. */
export const isRefusal = (error: unknown): boolean =>
  ["ECONNREFUSED", "ECONNRESET", "UND_ERR_SOCKET"].includes((error as { code?: string }).code ?? "");
