import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** Other engines of this API family, whose paths clients know. */
const otherEngine = /^\/v4\/databases\/(?:postgresql|mongodb|redis)(?:\/|$)/;

/** The reason in the 404 for an unknown path: the nearest existing paths, and where the API is described. */
export const createWhyNowhere =
  (publicUrl: string | undefined) =>
  (path: string, { prefix, next }: { prefix: string; next: readonly string[] }): Text => {
    const url = publicUrl ?? "";
    if (otherEngine.test(path)) return texts.engineNotOffered({ url });
    return prefix.startsWith("/v4") ? texts.pathUnknown({ prefix, next, url }) : texts.pathWithoutVersion({ url });
  };
