import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";

export const refuse = (reason: Text): DomainError => new DomainError("invalid", { field: "X-Filter", reason });

/** A caller's text, shortened for an error message. */
export const shown = (name: string): string => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);
