import { defineTexts, text } from "@moorage/contract/texts";

/** A paragraph after the greeting begins with a small letter. */
export const texts = defineTexts("mail", {
  greeting: text(({ username }: { username: string }) => `Hello ${username},`, { username: "alice" }),

  inviteSubject: text(() => "You were added to Moorage: choose a password"),
  inviteAdded: text(
    ({ username, company }: { username: string; company: string }) =>
      `you were added as a user of ${company} at Moorage. Your user name is ${username}.`,
    { username: "alice", company: "Example Ltd." },
  ),
  inviteLink: text(
    ({ hours }: { hours: number }) => `Choose a password to sign in with. This link works once, within ${hours} hours:`,
    { hours: 72 },
  ),
  inviteUnexpected: text(() => "If you do not know why you received this mail, you can ignore it."),

  resetSubject: text(() => "Choose a new Moorage password"),
  resetRequested: text(() => "somebody, hopefully you, requested a new password at Moorage."),
  resetLink: text(
    ({ hours }: { hours: number }) =>
      `To choose a new password, open this link. The link works once, within ${hours === 1 ? "an hour" : `${hours} hours`}:`,
    { hours: 1 },
  ),
  resetUnexpected: text(() => "If it was not you, do nothing: your password does not change."),

  passwordChangedSubject: text(() => "Your Moorage password was changed"),
  passwordChanged: text(() => "your password was changed."),
  tfaEnabledSubject: text(() => "Two-factor sign-in is on"),
  tfaEnabled: text(() => "two-factor sign-in was turned on for your user."),
  tfaDisabledSubject: text(() => "Two-factor sign-in is off"),
  tfaDisabled: text(() => "two-factor sign-in was turned off for your user."),
  passkeyAddedSubject: text(() => "A passkey was added"),
  passkeyAdded: text(() => "a passkey was added, and can be used to sign in as you."),
  passkeyRemovedSubject: text(() => "A passkey was removed"),
  passkeyRemoved: text(() => "one of your passkeys was removed."),
  addressSubject: text(() => "Confirm your Moorage mail address"),
  addressRequestedHere: text(() => "this address was entered as your new mail address at Moorage."),
  addressLink: text(
    ({ hours }: { hours: number }) =>
      `To confirm the address, open this link and sign in. The link works once, within ${hours} hours. Until then, mails go to your present address:`,
    { hours: 24 },
  ),
  addressUnexpected: text(() => "If you do not know why you received this mail, you can ignore it."),
  addressRequestedSubject: text(() => "A new mail address was entered for you at Moorage"),
  addressRequested: text(
    () =>
      "a new mail address was entered for your user. Mails go to the present one until the new address is confirmed, by a person who signs in as you.",
  ),
  addressChangedSubject: text(() => "Your Moorage mail address was changed"),
  addressChanged: text(() => "your mail address was changed. Mails to you go to the new address from now on."),
  tooManyInvitations: text(
    ({ most }: { most: number }) =>
      `an address that needs no mail: this account has sent ${most} invitations and confirmations today, and may send more after 00:00 UTC`,
    { most: 500 },
  ),
  noticeUnexpected: text(
    () => "If this was you, there is nothing to do. If not, choose a new password now and inform your operator.",
  ),
});
