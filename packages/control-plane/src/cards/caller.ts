import type { FastifyReply, FastifyRequest } from "fastify";
import { ignoredFieldsHeader } from "#platform/http/unknown-fields.ts";
import type { AdmissionReply } from "./card-admission.ts";

/** The caller, as far as the card admission needs to know, and what its answer sets in the response. */
export type Caller = {
  headers: Record<string, string>;
  key: string | undefined;
  /** Passes a refusal of the card admission on unchanged; from any other answer, only its headers. */
  passOn(reply: AdmissionReply): AdmissionReply;
  /** Names fields of the body that had no effect. */
  reportIgnored(names: readonly string[]): void;
};

const forwardedHeaders = ["authorization", "idempotency-key"];
const returnedHeaders = [
  "x-oauth-scopes",
  "x-accepted-oauth-scopes",
  "x-customer-uuid",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "retry-after",
];

/** A refusal of the card admission, passed on verbatim. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly reply: AdmissionReply;
  constructor(reply: AdmissionReply) {
    super("The card admission refused the request.");
    this.reply = reply;
  }
}

export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  const given = forwardedHeaders.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, [value].flat().join(",")] as const];
  });
  const headers: Record<string, string> = {
    ...Object.fromEntries(given),
    "x-request-id": request.id,
    "x-forwarded-for": request.ip,
  };
  return {
    headers,
    key: headers["idempotency-key"],
    passOn(answer) {
      for (const name of returnedHeaders)
        if (answer.headers[name] !== undefined) reply.header(name, answer.headers[name]);
      if (answer.status !== 200) throw new Refused(answer);
      return answer;
    },
    reportIgnored: (names) => void reply.headers(ignoredFieldsHeader(names)),
  };
}
