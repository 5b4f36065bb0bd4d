import { defineTexts, text } from "@moorage/contract/texts";

/** For paths of objects that do not exist. */
export const texts = defineTexts("request", {
  /** `hints` are whole sentences. */
  objectNotFound: text(
    ({ object, hints }: { object: string; hints: readonly string[] }) =>
      [`Not found: there is no ${object}.`, ...hints].join(" "),
    { object: "database 4711", hints: ["GET /v4/databases/mysql/instances lists what there is."] },
  ),
  possibleValues: text(({ values }: { values: readonly string[] }) => `Possible: ${values.join(", ")}.`, {
    values: ["cpu", "memory"],
  }),
  idIsNumber: text(({ noun }: { noun: string }) => `The id of a ${noun} is a number.`, { noun: "database" }),
  listedBy: text(({ path }: { path: string }) => `GET ${path} lists what there is.`, {
    path: "/v4/databases/mysql/instances",
  }),
});
