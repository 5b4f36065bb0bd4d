import type { Capture, CaptureReport, ImageUploadsRequest, UploadsReply } from "@moorage/contract/agent";

/**
 * Requests to hosts, and their reports, about disks to capture as images. Handled by the capability that owns images.
 */
export type CaptureCalls = {
  /** All captures that the host should perform now. */
  desired: (hostId: number) => Promise<Capture[]>;
  /** Returns whether there is a signal to relay. */
  observed: (hostId: number, reports: readonly CaptureReport[]) => Promise<boolean>;
  uploads: (hostId: number, request: ImageUploadsRequest) => Promise<UploadsReply>;
};
