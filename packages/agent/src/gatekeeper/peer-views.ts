import { MemberView } from "@moorage/contract/agent";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { Agent, request } from "undici";
import { z } from "zod";
import type { HostIdentity } from "./identity.ts";

const Question = z.object({ nodes: z.array(z.uuid()).max(1000) });
const Answer = z.object({ views: z.array(MemberView) });
/** A slower answer counts as none. */
const answerWithinMs = 1000;

/**
 * Serves the views of this host's members to other hosts. `viewFor` decides which host may read which member, by the
 * name in that host's certificate.
 */
export function servePeers(
  identity: HostIdentity,
  viewFor: (node: string, host: string) => MemberView | undefined,
  port: number,
) {
  const server = createServer({ ...identity, requestCert: true, rejectUnauthorized: true }, (req, res) => {
    const host = (req.socket as TLSSocket).getPeerCertificate().subject?.CN;
    const answer = async (): Promise<string> => {
      const { nodes } = Question.parse(await json(req));
      const views = typeof host === "string" ? nodes.flatMap((node) => viewFor(node, host) ?? []) : [];
      return JSON.stringify({ views } satisfies z.input<typeof Answer>);
    };
    answer().then(
      (text) => res.end(text),
      () => res.writeHead(400).end(),
    );
  });
  server.keepAliveTimeout = 30_000;
  return {
    listen: () =>
      new Promise<void>((resolve, reject) => void server.once("error", reject).listen(port, "0.0.0.0", resolve)),
    use: (next: HostIdentity) => server.setSecureContext(next),
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Queries another host for its members' views, over one connection on which that host proves its identity. */
export function connectPeer(
  identity: HostIdentity,
  { host, address }: { host: string; address: string },
  port: number,
) {
  const dispatcher = new Agent({
    connections: 1,
    connect: {
      ...identity,
      timeout: answerWithinMs,
      checkServerIdentity: (_, { subject }) =>
        subject?.CN === host ? undefined : new Error(`${address} is ${String(subject?.CN)}, not ${host}.`),
    },
    keepAliveTimeout: 20_000,
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
