import { type Operation, operations } from "@moorage/contract";
import { z } from "zod";
import { DomainError, NOT_FOUND } from "#platform/errors.ts";
import { isText } from "#platform/http/validate.ts";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** The nouns for path parameters. */
const nouns: Record<string, string> = {
  appId: "authorized app",
  backupId: "backup",
  clientId: "OAuth client",
  computeId: "compute instance",
  diskId: "disk",
  engineId: "engine",
  eventId: "event",
  imageId: "image",
  instanceId: "database",
  invoiceId: "invoice",
  loginId: "login",
  metric: "metric",
  paymentId: "payment",
  paymentMethodId: "payment method",
  regionId: "region",
  token: "transfer",
  tokenId: "token",
  typeId: "type",
  username: "user",
};
const LONGEST_SHOWN = 64;

/**
 * Adds to a 404 what was not found, from the request alone: nobody learns whether an object does not exist or is not
 * visible to them. A 404 that already has a reason is not changed.
 */
export function nameWhatIsMissing(
  error: unknown,
  operation: Operation,
  params: Readonly<Record<string, string>>,
): unknown {
  if (!(error instanceof DomainError) || error.kind !== "not-found" || error.message !== NOT_FOUND) return error;
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  if (names.length === 0) return error;
  const owner = operation.path.endsWith("/thumbnail") ? ["thumbnail"] : [];
  const parts = [...owner, ...names.toReversed().map((name) => nameOf(name, params[name]))];
  const hints = [...names.flatMap((name) => hintOf(operation, name, params[name])), ...listHint(operation.path)];
  return new DomainError("not-found", {
    reason: texts.objectNotFound({ object: parts.join(" of "), hints: hints.map((hint) => hint.text) }),
  });
}

/** A transfer's token is a secret and is not repeated. */
function nameOf(name: string, value: string | undefined): string {
  const noun = nouns[name] ?? name;
  if (name === "token" || value === undefined || value === "" || value.length > LONGEST_SHOWN || !isText(value))
    return `such ${noun}`;
  return `${noun} ${value}`;
}

/** The valid form, where it is known from the schema. */
function hintOf({ params: schema }: Operation, name: string, value = ""): Text[] {
  const field = schema?.shape[name];
  if (field instanceof z.ZodEnum && !field.safeParse(value).success)
    return [texts.possibleValues({ values: field.options as string[] })];
  const isNumber = field instanceof z.ZodType && field.safeParse("1").success && !field.safeParse("x").success;
  return isNumber && !/^\d+$/.test(value) ? [texts.idIsNumber({ noun: nouns[name] ?? name })] : [];
}

/** The list that contains the last object of a path. */
function listHint(path: string): Text[] {
  const list = path.slice(0, path.lastIndexOf("/:"));
  return operations.some((each) => each.method === "GET" && each.path === list)
    ? [texts.listedBy({ path: list.replace(/:(\w+)/g, "{$1}") })]
    : [];
}
