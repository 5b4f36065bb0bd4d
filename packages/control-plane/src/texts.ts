import { defineTexts, text } from "@moorage/contract/texts";

const nothingHere = (hint: string, url: string): string =>
  `Not found: there is no such path. ${hint} The interface is documented at ${url}/docs.`;

/** For paths that the tenant API does not have. */
export const texts = defineTexts("request", {
  engineNotOffered: text(
    ({ url }: { url: string }) => nothingHere("Only MySQL is offered: use /v4/databases/mysql.", url),
    { url: "https://moorage.example" },
  ),
  pathUnknown: text(
    ({ prefix, next, url }: { prefix: string; next: readonly string[]; url: string }) =>
      nothingHere(`${prefix} can be followed by: ${next.join(", ")}.`, url),
    { prefix: "/v4/databases/mysql", next: ["instances"], url: "https://moorage.example" },
  ),
  pathWithoutVersion: text(({ url }: { url: string }) => nothingHere("All paths begin with /v4.", url), {
    url: "https://moorage.example",
  }),
});
