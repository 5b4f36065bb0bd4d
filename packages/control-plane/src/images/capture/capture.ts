import type { CaptureReport } from "@moorage/contract/agent";
import type { DiskRow } from "#inventory/index.ts";

type HostState = "enrolling" | "active" | "drained" | "dead";
/** As the gateway last saw it. `captures`: its agent can capture; undefined when it was never seen. */
export type CaptureHost = { state: HostState; captures: boolean | undefined };

const READABLE: readonly DiskRow["filesystem"][] = ["ext3", "ext4", "raw"];
export const isReadable = ({ filesystem }: Pick<DiskRow, "filesystem">): boolean => READABLE.includes(filesystem);

/** Why no agent can read a disk of that host, in a sentence; undefined: one can. */
export function whyUnreadable(host: CaptureHost | undefined): string | undefined {
  if (host === undefined)
    return "It is not known which host has this disk, so it cannot be read. Ask the operator to register the host.";
  if (host.state === "dead") return "The host of this disk is out of service, so it cannot be read. Ask the operator.";
  if (host.state === "enrolling" || host.captures === undefined)
    return "The host of this disk is not in service yet, so it cannot be read. Ask the operator.";
  if (!host.captures)
    return "The agent of this disk's host is too old to capture disks. Ask the operator to update it, then try again.";
  return undefined;
}

const LONGEST_LABEL = 50;

/** A disk's label may contain what an image's may not; the tenant cannot correct that. */
export const labelOf = ({ id, label }: Pick<DiskRow, "id" | "label">): string =>
  label
    .replaceAll(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, LONGEST_LABEL)
    // Half of a surrogate pair that was cut in two.
    .replace(/\p{Cs}$/u, "")
    .trim() || `Disk ${id}`;

/** The state of a capture, for deciding its outcome. */
export type CaptureFacts = {
  /** False: the tenant deleted the image. */
  imageIsThere: boolean;
  /** False: its instance was transferred to another account. */
  diskIsTheirs: boolean;
  host: CaptureHost;
  /** The agent polled after the capture was requested. */
  seenSince: boolean;
  state: CaptureReport["state"] | null;
  message: string | null;
  content: string | null;
};
export type CaptureProgress =
  | { state: "working" }
  | { state: "done"; content: string }
  | { state: "failed"; message: string };

export const HANDED_OVER = "The compute instance was handed to another account before its disk was an image.";

const failed = (message: string): CaptureProgress => ({ state: "failed", message });

export function progressOf(facts: CaptureFacts): CaptureProgress {
  if (!facts.imageIsThere) return failed("The image was deleted.");
  if (!facts.diskIsTheirs) return failed(HANDED_OVER);
  if (facts.state === "failed") return failed(facts.message ?? "The disk's host could not capture it.");
  if (facts.state === "done" && facts.content !== null) return { state: "done", content: facts.content };
  if (facts.host.state === "dead") return failed(whyUnreadable(facts.host) as string);
  const isTooOld = facts.state === null && facts.seenSince && facts.host.captures === false;
  return isTooOld ? failed(whyUnreadable(facts.host) as string) : { state: "working" };
}

/** The reason at the deadline, for a capture that is not done. */
export const whyLate = ({ state, seenSince }: Pick<CaptureFacts, "state" | "seenSince">, percent: number): string =>
  state === null && !seenSince
    ? "The disk's host was not heard of in time. Try again later, or ask the operator."
    : `The disk's host did not finish in time; it had come to ${percent} %. Try again later, or ask the operator.`;
