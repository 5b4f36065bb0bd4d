import { DomainError } from "#platform/errors.ts";

export const refuse = (reason: string): DomainError => new DomainError("invalid", { field: "X-Filter", reason });

/** A caller's text, shortened for an error message. */
export const shown = (name: string): string => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);
