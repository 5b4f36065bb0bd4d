import { defineTexts, text } from "@moorage/contract/texts";

const HOW_TO_SEND = "Send `Authorization: Bearer <token>`.";
const replacement = (ofApp: boolean): string =>
  ofApp ? "The app has to request access again." : "Create another token.";

/** Answers to requests without a valid token. Clients check the first two words. */
export const tokenTexts = defineTexts("token", {
  noLongerValid: text(
    () =>
      "Invalid Token: this token is no longer valid: it was revoked, its user was deleted, or its account was closed.",
  ),
  missing: text(() => `Invalid Token: no token was sent. ${HOW_TO_SEND}`),
  missingAfterScheme: text(
    ({ scheme }: { scheme: string }) => `Invalid Token: no token was sent after \`${scheme}\`. ${HOW_TO_SEND}`,
    { scheme: "Bearer" },
  ),
  malformed: text(
    () =>
      "Invalid Token: a token has 64 hexadecimal digits, and the text that was sent does not. Check that the token was copied completely.",
  ),
  schemeMissing: text(() => `Invalid Token: the word \`Bearer\` is missing before the token. ${HOW_TO_SEND}`),
  schemeUnknown: text(() => `Invalid Token: only the scheme Bearer is accepted. ${HOW_TO_SEND}`),
  unknown: text(
    () =>
      "Invalid Token: this token is unknown. It is mistyped, it is of another installation, or its user was deleted.",
  ),
  revoked: text(
    ({ at, ofApp }: { at: string; ofApp: boolean }) =>
      `Invalid Token: this token was revoked at ${at} (UTC). ${replacement(ofApp)}`,
    { at: "2027-01-05T10:00:00", ofApp: false },
  ),
  expired: text(
    ({ at, ofApp }: { at: string; ofApp: boolean }) =>
      `Invalid Token: this token expired at ${at} (UTC). ${replacement(ofApp)}`,
    { at: "2027-01-05T10:00:00", ofApp: false },
  ),
  accountClosed: text(() => "Invalid Token: the account of this token is closed."),
  appInactive: text(
    ({ ofApp }: { ofApp: boolean }) =>
      `Invalid Token: this token was revoked because its app is no longer active. ${replacement(ofApp)}`,
    { ofApp: true },
  ),
  appNotAllowed: text(
    () =>
      "Your token is not authorized to use this endpoint. No app may change mail addresses, two-factor sign-in, users, grants or tokens. Use a personal token, or the page /security of the login host.",
  ),
  notConfirmed: text(
    ({ minutes }: { minutes: number }) =>
      `Your token is not authorized to use this endpoint. Changes of mail addresses, two-factor sign-in, users, grants and tokens require that you confirm the token: sign in at the login host, choose Confirm beside the token on the page /security, and repeat the request within ${minutes} minutes. A personal token with every scope (*) needs no confirmation.`,
    { minutes: 10 },
  ),
  scopeMissing: text(
    ({ missing }: { missing: readonly string[] }) =>
      `Your token is not authorized to use this endpoint. The endpoint requires the scope ${missing.join(" and ")}.`,
    { missing: ["databases:read_write"] },
  ),
});

export const grantTexts = defineTexts("grant", {
  unrestrictedOnly: text(() => "Unauthorized: only unrestricted users of the account may do this."),
  accountGrantMissing: text(
    ({ grant }: { grant: string }) =>
      `Unauthorized: this needs the ${grant} grant. An unrestricted user of the account can give it to you.`,
    {
      grant: "add_databases",
    },
  ),
  readWriteMissing: text(
    () =>
      "Unauthorized: this needs the read_write grant on this object. An unrestricted user of the account can give it to you.",
  ),
});

type Exceeded = { most: number; requested: number };
const exceeded =
  (what: string) =>
  ({ most, requested }: Exceeded): string =>
    `Limit reached: this account may have at most ${most} ${what}, and with this request it would have ${requested}. Delete a database, or ask the operator for a higher limit.`;

export const limitTexts = defineTexts("limit", {
  /** `what` in the plural, and of whom: "tokens per user". */
  countReached: text(
    ({ most, what }: { most: number; what: string }) => `Limit reached: at most ${most} ${what}. Delete one first.`,
    { most: 500, what: "tokens per user" },
  ),
  databasesExceeded: text(exceeded("databases"), { most: 3, requested: 4 }),
  nodesExceeded: text(exceeded("database nodes"), { most: 3, requested: 6 }),
  memoryExceeded: text(exceeded("MB of memory"), { most: 8192, requested: 12_288 }),
  diskExceeded: text(exceeded("MB of disk"), { most: 81_920, requested: 122_880 }),
});
