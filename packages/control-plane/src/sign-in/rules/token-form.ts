import { type Area, areas, operations } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** Areas that have operations here: others would only make the form longer. */
export const usedAreas = (Object.keys(areas) as Area[]).filter((area) =>
  operations.some(({ access }) => access !== "public" && access.scopes.some((scope) => scope.startsWith(`${area}:`))),
);

export const levels = ["none", "read_only", "read_write"] as const;
export const whole = ["all", "view", "some"] as const;
export const lasting = { "30": "30 days", "90": "90 days", "365": "a year", never: "for ever, until you revoke it" };

export const LONGEST_LABEL = 100;
export const fieldOf = (area: Area): string => `area_${area}`;
export const fields = ["label", "what", "expiry", ...usedAreas.map(fieldOf)];

export type TokenForm = Readonly<Record<string, string>>;
export type TokenFaults = { label?: Text; what?: Text; expiry?: Text };
type Read =
  | { newToken: { label: string; scopes: string[]; expires: Date | null } }
  | { newToken: undefined; faults: TokenFaults };

const DAY_MS = 24 * 60 * 60_000;

/** No default grants more than was meant: a contradictory form is shown again. */
export function readTokenForm(form: TokenForm, now: Date): Read {
  const label = (form["label"] ?? "").trim();
  const chosen = usedAreas.flatMap((area) => {
    const level = form[fieldOf(area)];
    return level === "read_only" || level === "read_write" ? [`${area}:${level}`] : [];
  });
  const scopes = scopesOf(form["what"], chosen);
  const expiry = form["expiry"] ?? "";
  const faults: TokenFaults = {
    ...(label === "" || label.length > LONGEST_LABEL
      ? { label: texts.tokenNameInvalid({ longest: LONGEST_LABEL }) }
      : {}),
    ...(Array.isArray(scopes) ? {} : { what: scopes }),
    ...(Object.hasOwn(lasting, expiry) ? {} : { expiry: texts.tokenExpiryMissing() }),
  };
  if (!Array.isArray(scopes) || Object.keys(faults).length > 0) return { newToken: undefined, faults };
  const expires = expiry === "never" ? null : new Date(now.getTime() + Number(expiry) * DAY_MS);
  return { newToken: { label, scopes, expires } };
}

function scopesOf(what: string | undefined, chosen: string[]): string[] | Text {
  if (what === "some") return chosen.length > 0 ? chosen : texts.tokenAreasMissing();
  if (what !== "all" && what !== "view") return texts.tokenAccessMissing();
  if (chosen.length > 0) return texts.tokenAccessContradictory();
  return what === "all" ? ["*"] : usedAreas.map((area) => `${area}:read_only`);
}
