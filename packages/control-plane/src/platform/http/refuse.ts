import type { FastifyReply } from "fastify";

/** As bytes: Fastify would add a charset, which one of the SDKs does not expect. */
export const refuse = (reply: FastifyReply, status: number, reason: string): FastifyReply =>
  reply
    .status(status)
    .header("content-type", "application/json")
    .send(Buffer.from(JSON.stringify({ errors: [{ reason }] })));
