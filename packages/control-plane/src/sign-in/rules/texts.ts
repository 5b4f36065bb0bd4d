import { defineTexts, text } from "@moorage/contract/texts";

/** Refusals and notices. What the pages explain is in `pages/texts.ts`. */
export const texts = defineTexts("sign_in", {
  // Two-factor sign-in.
  tfaNotOffered: text(
    () => "There is no two-factor sign-in to confirm. Begin with tfa-enable, and confirm it within an hour.",
  ),
  tfaCodeWrong: text(() => "tfa_code is not the current code. Send the code that your authenticator app shows now."),
  tfaAlreadyEnabled: text(
    () => "Two-factor sign-in is already on. To use another authenticator, turn two-factor sign-in off first.",
  ),
  tfaCodeNotCurrent: text(() => "This is not the current code. Type the code that your authenticator app shows now."),
  tfaOn: text(() => "Two-factor sign-in is on."),
  tfaOff: text(() => "Two-factor sign-in is off."),

  // Signing in. The same for an unknown name and a wrong password: it must not reveal who is a user.
  passwordWrong: text(() => "The user name or the password is wrong."),
  codeWrong: text(
    () =>
      "This code is wrong or was used before. Wait for the next code of your authenticator app, or use a scratch code.",
  ),
  passkeyNotAccepted: text(() => "The passkey was not accepted. Try again, or sign in with your password."),
  secondStepEnded: text(() => "The second step of this sign-in has ended. Sign in again."),
  tooManyAttemptsTitle: text(() => "Too many attempts"),
  tooManyAttempts: text(
    ({ wait }: { wait: string }) =>
      `The limit of attempts is reached, so this attempt was not checked. Try again in ${wait}.`,
    { wait: "2 minutes" },
  ),

  // Error pages. A key that ends in `Title` is the heading of the page with the text.
  pageExpiredTitle: text(() => "This page has expired"),
  pageExpired: text(
    () =>
      "Go back to where you came from and start again. A sign-in has to be completed in one browser, within an hour.",
  ),
  formNotOursTitle: text(() => "This form is not from our page"),
  formNotOurs: text(() => "Go back, load the page again, and send the form once more."),
  pageNotFoundTitle: text(() => "Not found"),
  pageNotFound: text(() => "Not found: there is no such page."),
  changeRefusedTitle: text(() => "The request was refused"),
  formRefused: text(() => "The server did not accept the form. Go back, load the page again, and try once more."),
  pageFailedTitle: text(() => "The server failed to process the request"),
  pageFailed: text(() => "Try again in a minute."),

  // Choosing a password.
  passwordsDiffer: text(() => "The two passwords differ. Type the new password twice."),
  passwordTooShort: text(
    ({ least }: { least: number }) =>
      `Choose at least ${least} characters. Several words with spaces between them make a good password.`,
    { least: 15 },
  ),
  passwordTooLong: text(({ most }: { most: number }) => `Choose at most ${most} characters.`, { most: 128 }),
  passwordRepetitive: text(() => "This password repeats itself. Choose one with more different characters."),
  passwordContainsName: text(
    () => "This password consists mostly of your user name, your mail address or our name. Choose one without them.",
  ),
  passwordCommon: text(
    () => "This password is common, so it is among the first that attackers try. Choose another password.",
  ),
  passwordChanged: text(() => "Your password is changed. Every other browser is signed out."),

  // Passkeys.
  passkeyNotVerified: text(() => "The passkey could not be added. Load this page again and try once more."),
  passkeyAlreadyRegistered: text(() => "This passkey is already registered."),
  passkeyLimitReached: text(
    ({ most }: { most: number }) => `Limit reached: at most ${most} passkeys per user. Remove one first.`,
    { most: 20 },
  ),
  passkeyAdded: text(({ label }: { label: string }) => `The passkey "${label}" is added.`, { label: "Laptop" }),
  passkeyRemoved: text(() => "The passkey is removed."),
  /** Of the script, in the browser. */
  passkeyCancelled: text(
    () => "The browser did not use a passkey: its window was closed, or the time ran out. You can try again.",
  ),
  passkeyOnThisDevice: text(() => "This device already has a passkey for you."),
  passkeyNotAtThisAddress: text(() => "Passkeys do not work at this address."),
  passkeyTooManyAttempts: text(() => "The limit of attempts is reached. Wait a few minutes, then try again."),
  passkeyFailed: text(() => "The passkey did not work. Load this page again and try once more."),

  // Personal tokens.
  tokenNameInvalid: text(
    ({ longest }: { longest: number }) =>
      `The token needs a name of 1 to ${longest} characters, such as the program that uses it.`,
    { longest: 100 },
  ),
  tokenAccessMissing: text(() => "Choose what the token may do."),
  tokenAreasMissing: text(() => "Choose at least one area that the token may view or change."),
  tokenAccessContradictory: text(
    () => "You chose single areas as well. Choose “Only what I choose below”, or set every area to “Nothing”.",
  ),
  tokenExpiryMissing: text(() => "Choose how long the token lasts."),
  tokenConfirmed: text(
    ({ label, minutes }: { label: string; minutes: number }) =>
      `For ${minutes} minutes, the token "${label}" may change mail addresses, two-factor sign-in, users, grants and tokens.`,
    { label: "Terraform", minutes: 10 },
  ),
  tokenRevoked: text(() => "The token is revoked. Programs that use the token have no access any more."),
});
