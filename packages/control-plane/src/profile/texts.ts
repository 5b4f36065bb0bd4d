import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("profile", {
  preferencesTooLong: text(
    ({ most, length }: { most: number; length: number }) =>
      `Preferences may have at most ${most} characters as JSON; these have ${length}.`,
    { most: 65_535, length: 65_536 },
  ),
});

/** These complete "<field> must be a valid value: …". */
export const tokenTexts = defineTexts("token", {
  scopesUnknown: text(
    ({ unknown }: { unknown: readonly string[] }) =>
      `* or areas with an access level, such as databases:read_only; there is no ${unknown.join(", ")}`,
    { unknown: ["moons:read_only"] },
  ),
  scopesEmpty: text(() => "scopes such as databases:read_only; omit the field for the scopes of the calling token"),
  scopesExceedCaller: text(
    ({ missing }: { missing: readonly string[] }) =>
      `at most the scopes of the calling token, which has no ${missing.join(", ")}`,
    { missing: ["databases:read_write"] },
  ),
  expiryInPast: text(({ now }: { now: string }) => `a future time in UTC, or null for never; it is now ${now}`, {
    now: "2027-01-05T10:00:00",
  }),
});
