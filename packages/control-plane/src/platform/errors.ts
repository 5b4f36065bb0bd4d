import { defineTexts, type Text, text } from "@moorage/contract/texts";

export type ErrorKind =
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "invalid"
  | "wrong-state"
  | "conflict"
  | "unavailable";
/** The wire has `field` and the text of `reason`; logs have its code. */
export type ErrorDetail = { field?: string; reason: Text };

/** A refusal that a caller can act on. Any other thrown error is a bug: 500, logged, its text hidden. */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly kind: ErrorKind;
  readonly errors: readonly ErrorDetail[];
  constructor(kind: ErrorKind, ...errors: ErrorDetail[]) {
    super(errors.map(({ reason }) => reason.text).join(" "));
    this.kind = kind;
    this.errors = errors;
  }
}

/** The text of every 404 begins with this. */
export const NOT_FOUND = "Not found";

const texts = defineTexts("request", {
  notFound: text(() => NOT_FOUND),
});

export const notFoundReason = (): Text => texts.notFound();

/** The route adds what was not found, from its path: a capability need not. */
export const notFound = (): DomainError => new DomainError("not-found", { reason: notFoundReason() });

export const invalid = (field: string, valid: Text): DomainError =>
  new DomainError("invalid", { field, reason: invalidReason(field, valid) });

/** `valid` completes the sentence that clients of this interface know. */
export const invalidReason = (field: string, { code, text: valid }: Text): Text => ({
  code,
  text: `${field} must be a valid value: ${valid}`,
});
