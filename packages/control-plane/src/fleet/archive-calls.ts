import type {
  ArchivedRequest,
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
