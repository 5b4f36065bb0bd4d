import { ApiError, EventFailed, NoAnswer } from "@moorage/client";
import { refusalOfAuthority } from "../profiles/connection.ts";
import { type ErrorForPrograms, Refused } from "../refused.ts";
import { flagOf } from "../tenant/body-field.ts";
import { texts } from "../texts.ts";

/** An expected error: the sentences for people, and the same for programs (`--json`). */
type Refusal = { sentences: string; errors: readonly ErrorForPrograms[] };

/** Undefined for a bug of this program. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof ApiError) return { sentences: sentencesOf(error), errors: error.errors };
  const refused = asRefused(error);
  return refused === undefined ? undefined : { sentences: refused.message, errors: refused.errors };
}

function asRefused(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof NoAnswer)
    return (
      refusalOfAuthority(error.origin, error.reason) ?? new Refused(texts.apiUnreachable({ message: error.message }))
    );
  if (error instanceof EventFailed) return new Refused(texts.operationFailed({ message: error.message }));
  return undefined;
}

function sentencesOf({ errors, status }: ApiError): string {
  const lines = errors.map(({ field, reason }) => (field === undefined ? reason : `${place(field)}: ${reason}`));
  return [...lines, ...(status === 401 ? [texts.signInAgain().text] : [])].join("\n");
}

/** The API's reasons begin with the field's name; a person typed an option. Headers are shown unchanged. */
const place = (field: string): string =>
  field === "X-Filter" ? "--filter" : /^[a-z]/.test(field) ? flagOf(field.split(".")) : field;
