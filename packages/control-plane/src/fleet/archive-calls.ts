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

/** What hosts ask and say about the past of their nodes. The capability that owns the nodes answers. */
export type ArchiveCalls = {
  uploads: Call<UploadsRequest, UploadsReply>;
  archived: Call<ArchivedRequest>;
  recipe: Call<RecipeRequest, RecipeReply>;
  verified: Call<VerifiedRequest>;
  keyring: Call<KeyringRequest>;
};
