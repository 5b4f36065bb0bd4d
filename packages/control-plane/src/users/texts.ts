import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("user", {
  /** Completes "username must be a valid value: …". It must not reveal whose name it is. */
  nameTaken: text(() => "a name that no other user has; upper and lower case count as equal"),
  deletesOneself: text(() => "You cannot delete yourself. Another unrestricted user of the account can."),
  restrictsOneself: text(() => "You cannot restrict yourself. Another unrestricted user of the account can."),
  notRestricted: text(
    ({ username }: { username: string }) =>
      `${username} is not restricted and may do everything. To assign single grants, first set restricted to true.`,
    { username: "alice" },
  ),
  accountBusy: text(() => "Another change to this account is in progress. Retry in a moment."),
});

export const grantTexts = defineTexts("grant", {
  /** Completes "<list>[<index>].id must be a valid value: …". */
  objectUnknown: text(
    ({ list, id }: { list: string; id: number }) =>
      `the id of a ${list} of this account; the account has no ${list} ${id}`,
    { list: "database", id: 4711 },
  ),
});
