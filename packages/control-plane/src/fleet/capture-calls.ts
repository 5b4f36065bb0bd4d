import type { Capture, CaptureReport, ImageUploadsRequest, UploadsReply } from "@moorage/contract/agent";

/** What hosts are asked, ask and say about the disks that they keep as images. The capability that owns those answers. */
export type CaptureCalls = {
  /** All that are wanted of the host now. */
  desired: (hostId: number) => Promise<Capture[]>;
  /** Whether there is something to relay. */
  observed: (hostId: number, reports: readonly CaptureReport[]) => Promise<boolean>;
  uploads: (hostId: number, request: ImageUploadsRequest) => Promise<UploadsReply>;
};
