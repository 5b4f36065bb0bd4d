import type {
  ArchivedRequest,
  Capture,
  CaptureReport,
  ImageUploadsRequest,
  KeyringRequest,
  RecipeReply,
  RecipeRequest,
  UploadsReply,
  UploadsRequest,
  VerifiedRequest,
} from "@moorage/contract/agent";

type Call<Request, Reply = object> = (hostId: number, request: Request) => Promise<Reply>;

/** Requests and reports of hosts about the archives of their nodes, handled by the capability that owns the nodes. */
export type ArchiveCalls = {
  uploads: Call<UploadsRequest, UploadsReply>;
  archived: Call<ArchivedRequest>;
  recipe: Call<RecipeRequest, RecipeReply>;
  verified: Call<VerifiedRequest>;
  keyring: Call<KeyringRequest>;
};

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
