import { ErrorReply } from "@moorage/contract";

/** An error response of the API, with all faults that it lists. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The id of the operation in the contract. */
  readonly operation: string;
  readonly status: number;
  readonly errors: ErrorReply["errors"];
  /** False: a proxy in between, or another server, answered in a form of its own. */
  readonly isOfApi: boolean;
  constructor(operation: string, status: number, errors: ErrorReply["errors"], isOfApi = true) {
    super(`${status}: ${errors.map(({ reason }) => reason).join(" ")}`);
    this.operation = operation;
    this.status = status;
    this.errors = errors;
    this.isOfApi = isOfApi;
  }

  /** The reason why this field was refused, if it was. */
  reasonFor(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.reason;
  }
}

/** All attempts failed without an answer. Whether the request was carried out is unknown; `cause` has the reason. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly operation: string;
  readonly tries: number;
  /** Such as https://api.example.com. */
  readonly origin: string;
  /** Such as ECONNREFUSED. */
  readonly reason: string;
  constructor(operation: string, url: string, tries: number, cause: unknown) {
    const reason = reasonOf(cause);
    const { origin } = new URL(url);
    super(`${origin} does not answer (${reason}).`, { cause });
    this.origin = origin;
    this.reason = reason;
    this.operation = operation;
    this.tries = tries;
  }
}

/** A proxy in between may answer in another form than the API's. */
export async function errorOf(operation: string, reply: Response): Promise<ApiError> {
  const parsed = ErrorReply.safeParse(await reply.json().catch(() => undefined));
  const errors = parsed.success ? parsed.data.errors : [{ reason: reply.statusText || "It gave no reason." }];
  return new ApiError(operation, reply.status, errors, parsed.success);
}

/** The message of a `fetch` error only says that it failed; the cause has the reason. */
function reasonOf(error: unknown): string {
  const inner: unknown = error instanceof Error ? (error.cause ?? error) : error;
  if (typeof inner === "object" && inner !== null && "code" in inner && typeof inner.code === "string")
    return inner.code;
  return inner instanceof Error ? inner.message : String(inner);
}
