import { defineTexts, text } from "@moorage/contract/texts";

/** What every server of the control plane answers, whatever was requested. */
export const texts = defineTexts("request", {
  // Bodies and fields.
  required: text(({ field }: { field: string }) => `${field} is required`, { field: "label" }),
  notAnObject: text(() => "The body must be a JSON object."),
  notText: text(() => "text without U+0000 and without unpaired surrogates"),
  /** `valid` is the message of a schema. */
  invalidField: text(({ valid }: { valid: string }) => valid, { valid: "3 to 32 characters" }),
  fieldNotOffered: text(({ field }: { field: string }) => `${field} is not offered. Omit it.`, {
    field: "private_network",
  }),
  fieldMistyped: text(
    ({ field, meant }: { field: string; meant: string }) =>
      `There is no field \`${field}\`. Did you mean \`${meant}\`?`,
    { field: "allowlist", meant: "allow_list" },
  ),
  notJson: text(({ place }: { place: string }) => `The body is not valid JSON. Check ${place}.`, {
    place: "line 3, column 14",
  }),
  contentTypeNotJson: text(() => "The body must be JSON. Send it as application/json."),
  contentTypeNotAccepted: text(
    ({ types }: { types: readonly string[] }) => `${types.join(" or ")}, with the file itself as the body`,
    { types: ["image/png", "image/gif"] },
  ),
  nameNotAllowed: text(
    () => "The body must not contain the name `__proto__`, nor a `constructor` that contains `prototype`.",
  ),
  bodyTooDeep: text(({ levels }: { levels: number }) => `The body must have at most ${levels} levels of nesting.`, {
    levels: 100,
  }),
  bodyTooManyValues: text(({ most }: { most: number }) => `The body must have at most ${most} values.`, {
    most: 25_000,
  }),
  bodyTooLarge: text(({ bytes }: { bytes: number }) => `The body must have at most ${bytes} bytes.`, {
    bytes: 1_048_576,
  }),

  // Paths and pages.
  pathMalformed: text(() => "The path is not a valid URL. Check its percent-encoding."),
  idTooLong: text(() => "Not found: the id in the path is longer than any id that exists."),
  methodNotAllowed: text(
    ({ method, allowed }: { method: string; allowed: readonly string[] }) =>
      `This path does not accept ${method}. It accepts ${allowed.join(", ")}.`,
    { method: "PATCH", allowed: ["GET", "HEAD", "OPTIONS", "PUT"] },
  ),
  pageOutOfRange: text(
    ({ least, most }: { least: number; most?: number }) =>
      `a whole number from ${least}${most === undefined ? "" : ` to ${most}`}`,
    { least: 25, most: 500 },
  ),

  // Headers.
  tokenInQuery: text(
    () =>
      "Invalid Token: a token in the query string is not accepted, because addresses are written to logs. Send the token as `Authorization: Bearer <token>`, and replace the token that was sent.",
  ),
  idempotencyKeyLength: text(({ longest }: { longest: number }) => `1 to ${longest} characters`, { longest: 255 }),
  idempotencyKeyReused: text(
    ({ hours }: { hours: number }) =>
      `This Idempotency-Key was used in the last ${hours} hours for a request with other parameters. Use a new key for a new request.`,
    { hours: 24 },
  ),
  headersTooLarge: text(() => "The headers of the request are too large."),

  // The server.
  tooSlow: text(() => "The request did not arrive in time. Retry it."),
  notHttp: text(() => "The server received bytes that are not a valid HTTP request."),
  /** `why` is the message of the HTTP framework. */
  notProcessable: text(({ why }: { why: string }) => why, { why: "Unsupported Media Type" }),
  overloaded: text(() => "The server is overloaded and did not start the request. Retry the request."),
  tookTooLong: text(
    () =>
      "The database did not answer in time, and the request was stopped. Retry it. For a list, use a narrower X-Filter.",
  ),
  internalError: text(() => "The server failed to process the request. Retry the request."),
});
