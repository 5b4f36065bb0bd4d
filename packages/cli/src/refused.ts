import type { ErrorReply } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";

/** The API's errors have a field, those of the command line a code. */
export type ErrorForPrograms = ErrorReply["errors"][number] & { code?: string };

/** An error that a person can act on: the control plane's own message, or one of the command line. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  /** For `--json`: as the API sent them, or this error. */
  readonly errors: readonly ErrorForPrograms[];
  constructor({ code, text }: Text, errors: readonly ErrorForPrograms[] = [{ code, reason: text }]) {
    super(text);
    this.code = code;
    this.errors = errors;
  }
}
