import type { FastifyReply } from "fastify";
import type { Text } from "@moorage/contract/texts";

/** As bytes: Fastify would add a charset, which one of the SDKs does not expect. */
export function refuse(reply: FastifyReply, status: number, { code, text: reason }: Text): FastifyReply {
  reply.refusals = [code];
  return reply
    .status(status)
    .header("content-type", "application/json")
    .send(Buffer.from(JSON.stringify({ errors: [{ reason }] })));
}
