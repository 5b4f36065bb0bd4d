import type { Waiting } from "@moorage/client";
import type { Event } from "@moorage/contract";
import type { Terminal } from "../terminal.ts";

const EVERY_MS = 1_000;

/** How an event goes, for whoever waits. */
export const progressIn = ({ progress, env }: Terminal): Waiting => ({
  everyMs: Number(env["MOORAGE_POLL_MS"] ?? EVERY_MS),
  onProgress: (event) => progress(lineOf(event)),
});

const lineOf = ({ action, percent_complete, message }: Event): string =>
  [action, percent_complete === null ? "started" : `${percent_complete} %`, message ?? ""].filter(Boolean).join("  ");
