import { NOT_FOUND } from "#platform/errors.ts";

/** Other engines of this API family, whose paths clients know. */
const otherEngine = /^\/v4\/databases\/(?:postgresql|mongodb|redis)(?:\/|$)/;

/** The reason in the 404 for an unknown path: the nearest existing paths, and where the API is described. */
export const createWhyNowhere =
  (publicUrl: string | undefined) =>
  (url: string, { prefix, next }: { prefix: string; next: readonly string[] }): string => {
    const hint = otherEngine.test(url)
      ? "Only MySQL is offered: use /v4/databases/mysql."
      : prefix.startsWith("/v4")
        ? `After ${prefix} may come: ${next.join(", ")}.`
        : "All paths begin with /v4.";
    return `${NOT_FOUND}: there is no such path. ${hint} The interface is described at ${publicUrl ?? ""}/docs.`;
  };
