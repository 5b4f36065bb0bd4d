import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("image", {
  diskUnknown: text(() => "the id of a disk that you may see"),
  filesystemUnsupported: text(
    ({ id, filesystem }: { id: number; filesystem: string }) =>
      `the id of a disk whose filesystem is ext3, ext4 or raw; the filesystem of disk ${id} is ${filesystem}`,
    { id: 12, filesystem: "swap" },
  ),
  diskHostUnknown: text(
    () => "The disk cannot be read: no host is registered for it. Request the registration from the operator.",
  ),
  diskHostDead: text(() => "The disk cannot be read: its host is out of service. Contact the operator."),
  diskHostNotReady: text(() => "The disk cannot be read: its host is not in service yet. Contact the operator."),
  diskAgentTooOld: text(
    () =>
      "The disk cannot be read: the agent of its host is too old to capture disks. Request an update of the agent from the operator, then try again.",
  ),

  captureTransferred: text(
    () => "The compute instance was transferred to another account before the capture of its disk was complete.",
  ),
  captureFailed: text(() => "The host of the disk could not capture the disk. Contact the operator."),
  captureHostReported: text(({ message }: { message: string }) => message, {
    message: "The disk is in use by another process.",
  }),
  captureHostUnreachable: text(
    () => "The host of the disk was unreachable until the deadline. Try again later, or contact the operator.",
  ),
  captureDeadlineExceeded: text(
    ({ percent }: { percent: number }) =>
      `The host of the disk did not complete the capture in time: it reached ${percent} %. Try again later, or contact the operator.`,
    { percent: 41 },
  ),
  captureStoreUnreachable: text(
    () => "The disk was read, but the object store was unreachable until the deadline. Try again later.",
  ),
  captureIncomplete: text(
    ({ why }: { why: string }) =>
      `The host of the disk reported a complete capture, but the image in the object store is incomplete or damaged. ${why} Capture the disk again.`,
    { why: "chunk-000003 is missing." },
  ),
  captureAboveLimit: text(
    ({ maxMb }: { maxMb: number }) =>
      `The captured disk is larger than ${maxMb} MB, the limit of an image. Make the disk smaller, or request a higher limit from the operator.`,
    { maxMb: 6144 },
  ),

  /** Description of an image. */
  automaticDescription: text(({ label }: { label: string }) => `Created when ${label} was removed.`, { label: "web" }),
  filesystemNotKept: text(
    ({ filesystem }: { filesystem: string }) =>
      `The filesystem of the disk is ${filesystem}, which holds nothing to keep.`,
    { filesystem: "swap" },
  ),
  diskTooLargeToKeep: text(
    ({ mb, maxMb }: { mb: number; maxMb: number }) => `The disk has ${mb} MB; an image may have at most ${maxMb} MB.`,
    { mb: 8192, maxMb: 6144 },
  ),
});
