import { ApiError, EventFailed, NoAnswer } from "@moorage/client";
import { Refused } from "./admin-client.ts";
import { flagOf } from "./tenant/body-field.ts";

/** The message for an expected error; undefined for a bug of this program. */
export function inWords(error: unknown): string | undefined {
  if (error instanceof Refused || error instanceof NoAnswer) return error.message;
  if (error instanceof EventFailed) return `It has failed: ${error.message}`;
  if (!(error instanceof ApiError)) return undefined;
  const lines = error.errors.map(({ field, reason }) => (field === undefined ? reason : `${place(field)}: ${reason}`));
  if (error.status === 401) lines.push("Sign in again, or with a token that may do this: moorage login");
  return lines.join("\n");
}

/** The API's reasons begin with the field's name; a person typed an option. Headers are shown unchanged. */
const place = (field: string): string =>
  field === "X-Filter" ? "--filter" : /^[a-z]/.test(field) ? flagOf(field.split(".")) : field;
