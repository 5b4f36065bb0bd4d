import { defineTexts, text } from "@moorage/contract/texts";

/**
 * What the pages explain. Labels of fields and buttons are in the templates. A key that ends in `Title` is a heading;
 * `sentence` in layout.ts shows words in backticks as code.
 */
export const texts = defineTexts("sign_in_page", {
  // Signing in.
  codeHint: text(() => "The six digits in your authenticator app, or one of your scratch codes."),
  tooManyAttemptsHint: text(
    () =>
      "The limit applies to this network or to this user. Signing in with a passkey, or in a browser in which you have signed in before, may work earlier.",
  ),
  signOutExplained: text(() => "Apps that you authorized keep their access."),
  signedOutTitle: text(() => "You are signed out"),
  signedOut: text(() => "You are signed out in this browser. You can close this page."),
  signedOutEverywhere: text(() => "You are signed out in this and every other browser. You can close this page."),

  // Consent.
  accessRequested: text(
    ({ app, username }: { app: string; username: string }) =>
      `${app} requests access to your Moorage account. You are signed in as ${username}.`,
    { app: "Fleet board", username: "alice" },
  ),
  accessToEverything: text(() => "The app could view, change and delete everything in your account."),
  accessToEverythingExplained: text(
    ({ app }: { app: string }) =>
      `This includes databases and their backups, images and payment methods. Continue only if you trust ${app} with all of it.`,
    { app: "Fleet board" },
  ),
  accessRevocable: text(
    () => "You can revoke the access of the app at any time with the command moorage me app delete.",
  ),
  appVerified: text(
    ({ owner }: { owner: string }) =>
      `An account that calls itself ${owner} registered the app. The operator has verified the name of the app and where it sends you.`,
    { owner: "Example Ltd." },
  ),
  appOfOwnAccount: text(
    ({ owner }: { owner: string }) =>
      `Your own account, ${owner}, registered the app. The operator has not verified it.`,
    { owner: "Example Ltd." },
  ),
  appNotVerifiedTitle: text(() => "This app is not verified"),
  appNotVerified: text(
    ({ label, owner }: { label: string; owner: string }) =>
      `${label} was registered by another account, which calls itself ${owner}, and the operator has not verified it. It can request access to your account after the operator has verified it. You gave it no access.`,
    { label: "Fleet board", owner: "Example Ltd." },
  ),
  redirectToSite: text(({ host }: { host: string }) => `After this page you are sent back to ${host}.`, {
    host: "app.example.com",
  }),
  redirectToProgram: text(
    ({ host }: { host: string }) => `After this page you are sent back to a program on this computer, ${host}.`,
    { host: "127.0.0.1:49152" },
  ),
  redirectToScheme: text(
    ({ scheme }: { scheme: string }) =>
      `After this page you are sent back to the app on this device that opens ${scheme} links.`,
    { scheme: "com.example.app:" },
  ),

  // The command line.
  deviceCode: text(() => "Type the code that `moorage login` shows in your terminal."),
  deviceCodeHint: text(() => "Eight letters, such as BCDF-GHJK."),
  deviceCodeWarning: text(
    () =>
      "Type only a code that you see in your own terminal. A code that somebody sent you would sign the sender in as you.",
  ),
  deviceSignedInTitle: text(() => "The command line is signed in"),
  deviceSignedIn: text(
    () => "Go back to your terminal: moorage login continues there by itself. You can close this page.",
  ),
  loginRequested: text(
    ({ username }: { username: string }) => `\`moorage login\` requests to be signed in as ${username}.`,
    { username: "alice" },
  ),
  loginByBrowserWarning: text(() => "Continue only if you have just run `moorage login` on this computer."),
  loginByCodeWarning: text(
    () =>
      "Continue only if you have just run `moorage login` yourself and your terminal shows this code. If somebody sent you the code, refuse: the sender would get access to your account.",
  ),
  loginAccessToEverything: text(() => "The command line can then do everything that you may do."),
  loginToken: text(
    ({ label, days }: { label: string; days: number }) =>
      `The command line gets a personal token, “${label}”, which expires after ${days} days. To revoke the token before that, run moorage logout on that computer, or revoke it under Sign-in and security.`,
    { label: "moorage login on laptop", days: 90 },
  ),

  // Choosing a password.
  forgot: text(() => "You get a mail with a link by which you choose a new password."),
  forgotDoneTitle: text(() => "Check your mail"),
  forgotDone: text(
    () =>
      "If there is a user with this name, a mail with a link is on its way to the mail address of the user. The link works once, within an hour.",
  ),
  forgotDoneHint: text(
    () =>
      "If no mail arrives, check the spam folder and the spelling of the user name. Unrestricted users of your account can see your user name and your mail address.",
  ),
  passwordHint: text(() => "At least 15 characters. Several words with spaces between them make a good password."),
  passwordSignsOut: text(() => "Saving the password signs you out in every browser."),
  passwordSavedTitle: text(() => "Your password is saved"),
  passwordSaved: text(() => "Sign in with your new password."),
  nextCommandLine: text(() => "To sign in the command line, run this in a terminal. It opens your browser:"),
  nextToken: text(
    () => "For SDKs, Terraform and scripts, sign in here and create a personal token under Sign-in and security.",
  ),
  linkInvalidTitle: text(() => "This link is no longer valid"),
  linkInvalid: text(() => "A link works once, and only until it expires. Request a new link."),

  // A new mail address.
  confirmAddressTitle: text(() => "Confirm your mail address"),
  confirmAddress: text(
    ({ username, email }: { username: string; email: string }) =>
      `From now on, mails for ${username} go to ${email}, also links for a new password.`,
    { username: "alice", email: "alice@example.com" },
  ),
  addressConfirmedTitle: text(() => "Your mail address is confirmed"),
  addressLinkInvalid: text(
    () =>
      "A link works once, for 24 hours, and only for the user whose address it confirms. Sign in as that user and open the link again, or enter the address once more.",
  ),

  // Sign-in and security.
  signedInAs: text(({ username }: { username: string }) => `You are signed in as ${username}.`, { username: "alice" }),
  mailsGoTo: text(({ email }: { email: string }) => `Mails about the security of your user go to ${email}.`, {
    email: "alice@example.com",
  }),
  signOutEverywhere: text(
    () =>
      "This signs you out in this and every other browser. Apps that you authorized and your tokens keep their access.",
  ),
  newPasswordSignsOut: text(() => "A new password signs you out in every other browser."),
  noPassword: text(() => "You have no password yet."),
  tfaOnExplained: text(
    ({ left }: { left: number }) =>
      `Signing in with your password also requires a code of your authenticator app. Scratch codes left: ${left}.`,
    { left: 8 },
  ),
  tfaOffExplained: text(
    () =>
      "With two-factor sign-in, somebody who learns your password still cannot sign in as you. It requires an authenticator app.",
  ),
  tfaScan: text(() => "Scan this QR code with your authenticator app."),
  tfaQrCode: text(() => "QR code of your secret, which is also below as text"),
  tfaTypeSecret: text(() => "Or type this secret into the app:"),
  tfaTypeCode: text(() => "Type the code that the app shows."),
  scratchCodesTitle: text(() => "Keep these scratch codes"),
  scratchCodes: text(
    () =>
      "If you lose your authenticator, each of these codes signs you in once in its place. They are shown only on this page: print them, or store them with your passwords.",
  ),
  passkeys: text(
    () =>
      "A passkey signs you in with the lock of your device, without a password and without a code. It works only at this address, so a forged page cannot get it.",
  ),
  passkeyNameHint: text(() => "The name distinguishes this passkey from your others."),
  passkeyNeedsScript: text(() => "To add a passkey, allow this page to run scripts."),

  // Personal tokens.
  tokens: text(
    () =>
      "A token lets a program use the API as you, such as an SDK, Terraform or a script. The command line creates its own token: `moorage login`. A token with some permissions changes users, tokens, mail addresses and two-factor sign-in only after you confirm it here.",
  ),
  noToken: text(() => "You have no token yet."),
  newToken: text(() => "A token has at most your own permissions. Create a separate token for each program."),
  tokenNameHint: text(() => "The program that uses the token, such as “Terraform on the build server”."),
  tokenCreatedTitle: text(() => "Copy your token now"),
  tokenCreated: text(
    ({ label }: { label: string }) =>
      `The token “${label}” is created. It is shown only on this page: copy it to where you store passwords, or into the program that uses it.`,
    { label: "Terraform" },
  ),
  tokenCopyHint: text(() => "Select the whole token (Ctrl+A) and copy it (Ctrl+C)."),
  tokenForCommandLine: text(() => "For the command line, run this, and paste the token when it is requested:"),
  tokenForSdks: text(
    () => "For SDKs and Terraform, set the API token to this token and the address of the API to this:",
  ),
});
