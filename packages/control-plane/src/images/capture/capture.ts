import type { CaptureReport } from "@moorage/contract/agent";
import type { DiskRow } from "#inventory/index.ts";
import type { Text } from "@moorage/contract/texts";
import { texts as imageTexts } from "../model/texts.ts";
import { texts } from "./texts.ts";

type HostState = "enrolling" | "active" | "drained" | "dead";
/** As the gateway last saw it. `captures`: its agent can capture; undefined when it was never seen. */
export type CaptureHost = { state: HostState; captures: boolean | undefined };

const READABLE: readonly DiskRow["filesystem"][] = ["ext3", "ext4", "raw"];
export const isReadable = ({ filesystem }: Pick<DiskRow, "filesystem">): boolean => READABLE.includes(filesystem);

/** Why no agent can read a disk of that host; undefined: one can. */
export function whyUnreadable(host: CaptureHost | undefined): Text | undefined {
  if (host === undefined) return texts.diskHostUnknown();
  if (host.state === "dead") return texts.diskHostDead();
  if (host.state === "enrolling" || host.captures === undefined) return texts.diskHostNotReady();
  return host.captures ? undefined : texts.diskAgentTooOld();
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
  | { state: "failed"; message: Text };

const failed = (message: Text): CaptureProgress => ({ state: "failed", message });

export function progressOf(facts: CaptureFacts): CaptureProgress {
  if (!facts.imageIsThere) return failed(imageTexts.deleted());
  if (!facts.diskIsTheirs) return failed(texts.captureTransferred());
  if (facts.state === "failed")
    return failed(
      facts.message === null ? texts.captureFailed() : texts.captureHostReported({ message: facts.message }),
    );
  if (facts.state === "done" && facts.content !== null) return { state: "done", content: facts.content };
  if (facts.host.state === "dead") return failed(whyUnreadable(facts.host) as Text);
  const isTooOld = facts.state === null && facts.seenSince && facts.host.captures === false;
  return isTooOld ? failed(whyUnreadable(facts.host) as Text) : { state: "working" };
}

/** The reason at the deadline, for a capture that is not done. */
export const whyLate = ({ state, seenSince }: Pick<CaptureFacts, "state" | "seenSince">, percent: number): Text =>
  state === null && !seenSince ? texts.captureHostUnreachable() : texts.captureDeadlineExceeded({ percent });
