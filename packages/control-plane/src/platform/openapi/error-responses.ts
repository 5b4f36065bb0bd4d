import type { Operation } from "@moorage/contract";
import type { JsonSchema } from "./schemas.ts";

const descriptions = {
  400: "Something in the request is not valid, or the object is not in a state that allows it.",
  401: "The token is missing, unknown, expired or revoked, or lacks a scope that this needs.",
  403: "The user may not do this.",
  404: "There is no such object that the user may see.",
  405: "The path does not know this method.",
  413: "The body is too large.",
  429: "Too many requests.",
  500: "A fault of the service.",
  503: "The service cannot do this at the moment.",
} as const;
type ErrorStatus = keyof typeof descriptions;

const withRetryAfter: readonly number[] = [429, 503];

export const errorStatuses = ({ access, params, body, method }: Operation): ErrorStatus[] => {
  const possible: Partial<Record<ErrorStatus, boolean>> = {
    403: access !== "public",
    404: params !== undefined,
    413: body !== undefined || method !== "GET",
  };
  return (Object.keys(descriptions).map(Number) as ErrorStatus[]).filter((status) => possible[status] ?? true);
};

export const errorResponses = (schema: JsonSchema): object =>
  Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      status,
      {
        ...errorResponse(description, schema),
        ...(withRetryAfter.includes(Number(status))
          ? { headers: { "Retry-After": { $ref: "#/components/headers/Retry-After" } } }
          : {}),
      },
    ]),
  );

/** For a status whose meaning depends on the operation. */
export const errorResponse = (description: string, schema: JsonSchema): object => ({
  description,
  content: { "application/json": { schema } },
});
