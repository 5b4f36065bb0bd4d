import { defineTexts, text } from "@moorage/contract/texts";

/** A paragraph after the greeting begins with a small letter. */
export const texts = defineTexts("mail", {
  greeting: text(({ username }: { username: string }) => `Hello ${username},`, { username: "alice" }),

  inviteSubject: text(() => "You have a Moorage user"),
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
      `To choose one, open this link. It works once, within ${hours === 1 ? "an hour" : `${hours} hours`}:`,
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
  addressChangedSubject: text(() => "Your Moorage mail address was changed"),
  addressChanged: text(() => "your mail address was changed. Mails to you go to the new address from now on."),
  noticeUnexpected: text(
    () => "If this was you, there is nothing to do. If not, choose a new password now and inform your operator.",
  ),
});
