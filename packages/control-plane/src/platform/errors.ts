export type ErrorKind =
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "invalid"
  | "wrong-state"
  | "conflict"
  | "unavailable";
export type ErrorDetail = { field?: string; reason: string };

/** A refusal that a caller can act on. Any other thrown error is a bug: 500, logged, its text hidden. */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly kind: ErrorKind;
  readonly errors: readonly ErrorDetail[];
  constructor(kind: ErrorKind, ...errors: ErrorDetail[]) {
    super(errors.map(({ reason }) => reason).join(" "));
    this.kind = kind;
    this.errors = errors;
  }
}

/** Every text of a 404 begins with this. */
export const NOT_FOUND = "Not found";
/** The route adds what was not found, by its path: a capability need not. */
export const notFound = (): DomainError => new DomainError("not-found", { reason: NOT_FOUND });

export const invalid = (field: string, valid: string): DomainError =>
  new DomainError("invalid", { field, reason: invalidReason(field, valid) });

export const invalidReason = (field: string, valid: string): string => `${field} must be a valid value: ${valid}`;
