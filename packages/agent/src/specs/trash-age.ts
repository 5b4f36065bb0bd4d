import { z } from "zod";
import { dayMs } from "./deletion-guard.ts";

export const TrashAge = z.object({
  /** When it was looked at last. */
  at: z.string(),
  /** For how long the trash has aged in all. */
  aged_ms: z.number(),
  /** By entry: for how long the trash had aged when it was first seen. */
  entries: z.record(z.string(), z.number()),
  /** When entries were purged. */
  purged: z.array(z.string()),
});
export type TrashAge = z.output<typeof TrashAge>;

export type TrashRules = { keptMs: number; perDay: number };

/**
 * The trash ages between two looks, unless the limit of deletions holds something at the second one: whoever has to
 * decide about that may need what was deleted before it. `due` is to be purged now, the oldest first. Pure.
 */
export function ageTrash(
  before: TrashAge | undefined,
  { names, now, isHeld }: { names: readonly string[]; now: Date; isHeld: boolean },
  { keptMs, perDay }: TrashRules,
): { age: TrashAge; due: string[] } {
  const at = now.toISOString();
  const sinceMs = before === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(before.at));
  const aged = (before?.aged_ms ?? 0) + (isHeld ? 0 : sinceMs);
  const arrived = new Map(names.map((name) => [name, before?.entries[name] ?? aged]));
  const purged = (before?.purged ?? []).filter((each) => Date.parse(each) > now.getTime() - dayMs);
  const old = [...arrived].filter(([, from]) => aged - from >= keptMs).sort(([, a], [, b]) => a - b);
  const due = isHeld ? [] : old.slice(0, Math.max(0, perDay - purged.length)).map(([name]) => name);
  return {
    age: { at, aged_ms: aged, entries: Object.fromEntries(arrived), purged: [...purged, ...due.map(() => at)] },
    due,
  };
}
