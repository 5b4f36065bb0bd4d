import { DomainError } from "#platform/errors.ts";

export const refuse = (reason: string): DomainError => new DomainError("invalid", { field: "X-Filter", reason });

/** What a caller wrote, short enough to be said back. */
export const shown = (name: string): string => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);
