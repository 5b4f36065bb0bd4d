import type { Scope } from "./operation.ts";

/** What a token may be used for, in the words of the consent page. */
export const areas = {
  account: "your account: users, invoices, payment methods, OAuth apps and settings",
  balancers: "your load balancers",
  computes: "your compute instances and their disks",
  databases: "your databases, their backups and passwords",
  domains: "your domains and their records",
  events: "your events",
  firewall: "your firewalls",
  images: "your machine images",
  ips: "your addresses",
  kube: "your Kubernetes clusters",
  monitor: "your monitoring clients",
  object_storage: "your object storage",
  scripts: "your deployment scripts",
  volumes: "your volumes",
  vpc: "your private networks",
} as const;
export type Area = keyof typeof areas;

/** How older clients of this family spell an area. */
const spellings: Readonly<Record<string, Area>> = {
  linodes: "computes",
  lke: "kube",
  longview: "monitor",
  nodebalancers: "balancers",
  stackscripts: "scripts",
};

const isArea = (text: string): text is Area => Object.hasOwn(areas, text);

/** A scope as it is stored: `*`, `area:read_only` or `area:read_write`. Undefined: there is no such scope. */
export function readScope(text: string): string | undefined {
  if (text === "*") return text;
  const [name = "", level, ...rest] = text.split(":");
  const area = spellings[name] ?? name;
  if (!isArea(area) || rest.length > 0) return undefined;
  if (level === "read_only" || level === "read_write") return `${area}:${level}`;
  return level === "*" ? `${area}:read_write` : undefined;
}

/** Parses a list with commas or spaces into known and unknown scopes. */
export function readScopes(text: string): { scopes: string[]; unknown: string[] } {
  const named = text.split(/[\s,]+/).filter((each) => each !== "");
  const known = named.flatMap((each) => readScope(each) ?? []);
  return {
    scopes: known.includes("*") ? ["*"] : [...new Set(known)].sort(),
    unknown: named.filter((each) => readScope(each) === undefined),
  };
}

/** `*` is every scope; `area:read_write` includes `area:read_only`. */
export function holds(held: readonly string[], needed: Scope): boolean {
  const [area, level] = needed.split(":");
  return held.some(
    (scope) =>
      scope === "*" ||
      scope === needed ||
      scope === `${area}:*` ||
      (level === "read_only" && scope === `${area}:read_write`),
  );
}

/** Whether the holder of `held` may pass `requested` on. */
export const covers = (held: readonly string[], requested: readonly string[]): boolean =>
  requested.every((scope) => (scope === "*" ? held.includes("*") : holds(held, scope as Scope)));
