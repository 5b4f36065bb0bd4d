import { z } from "zod";
import { WebUrl } from "#platform/settings.ts";

export const closingSettings = {
  MOORAGE_CLOSED_ACCOUNT_DAYS: z.coerce
    .number()
    .nonnegative()
    .default(30)
    .describe("How long the data of a cancelled account are kept, in days."),
};

export const surveySettings = {
  MOORAGE_SURVEY_URL: z
    .union([z.literal(""), WebUrl], "expected a URL with http or https, or nothing")
    .default("")
    .describe("A survey for users who cancel their account: `survey_link` in the reply."),
};
