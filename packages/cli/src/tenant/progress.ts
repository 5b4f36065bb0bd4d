import type { Waiting } from "@moorage/client";
import type { Event } from "@moorage/contract";
import type { Terminal } from "../terminal.ts";
import { texts } from "./texts.ts";

const EVERY_MS = 1_000;

/** Shows the progress of an event while waiting for it. */
export const progressIn = ({ progress, env }: Terminal): Waiting => ({
  everyMs: Number(env["MOORAGE_POLL_MS"] ?? EVERY_MS),
  onProgress: (event) => progress(lineOf(event)),
});

const lineOf = ({ action, percent_complete, message }: Event): string =>
  texts.progress({ action, percent: percent_complete, message: message ?? "" }).text;
