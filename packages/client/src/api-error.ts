import { ErrorReply } from "@moorage/contract";

/** A refusal by the API, with every fault that it named. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly errors: ErrorReply["errors"];
  constructor(status: number, errors: ErrorReply["errors"]) {
    super(`${status}: ${errors.map(({ reason }) => reason).join(" ")}`);
    this.status = status;
    this.errors = errors;
  }

  /** Why this field was refused, if it was. */
  reasonFor(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.reason;
  }
}

/** A proxy in between may answer with something else than the API's own form. */
export async function errorOf(reply: Response): Promise<ApiError> {
  const parsed = ErrorReply.safeParse(await reply.json().catch(() => undefined));
  return new ApiError(reply.status, parsed.success ? parsed.data.errors : [{ reason: reply.statusText }]);
}
