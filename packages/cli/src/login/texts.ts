import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("cli_login", {
  urlInvalid: text(
    () => "The URL of the API is missing or invalid. Sign in: moorage login --url https://<the API's address>",
  ),
  tokenPrompt: text(() => "Personal token (not shown; to create one, open Sign-in and security in your browser): "),
  tokenMissing: text(() => "The token is empty. Nothing was changed."),
  /** `storage` is the sentence of `tokenInKeychain` or `tokenInFile`. */
  signedIn: text(
    ({ username, url, profile, storage }: { username: string; url: string; profile: string; storage: string }) =>
      `You are signed in as ${username} at ${url}, with the profile ${profile}. ${storage}\nNext: moorage`,
    {
      username: "nia",
      url: "https://api.example.com",
      profile: "default",
      storage: "The token is in the keychain (Secret Service).",
    },
  ),
  tokenInKeychain: text(({ keychain }: { keychain: string }) => `The token is in ${keychain}.`, {
    keychain: "the keychain (Secret Service)",
  }),
  tokenInFile: text(
    ({ file }: { file: string }) =>
      `No keychain of this system accepts the token. The token is in ${file}, which only you can read.`,
    { file: "/home/nia/.config/moorage/profiles.json" },
  ),
  formerTokenNotRevoked: text(
    () =>
      "The token of the previous login could not be revoked and stays valid. To revoke it, open Sign-in and security in your browser.",
  ),

  // With a browser on this computer, which shows the pages.
  openBrowser: text(
    ({ url }: { url: string }) => `Sign in with your browser. If the browser does not open, go to:\n\n  ${url}\n`,
    { url: "https://login.example.com/oauth/authorize" },
  ),
  timedOut: text(
    ({ minutes }: { minutes: number }) => `Nobody signed in within ${minutes} minutes. Run moorage login again.`,
    { minutes: 10 },
  ),
  pageSignedInTitle: text(() => "The command line is signed in"),
  pageSignedIn: text(() => "Go back to your terminal. You can close this page."),
  pageNotSignedInTitle: text(() => "The command line is not signed in"),
  pageNotSignedIn: text(() => "Your terminal shows the reason. You can close this page."),
  pageUnknownTitle: text(() => "This page does not exist"),
  pageUnknown: text(() => "Go back to your terminal."),
  pageOtherSignInTitle: text(() => "Your terminal waits for another sign-in"),
  pageOtherSignIn: text(() => "Run moorage login again."),

  // With a browser elsewhere.
  deviceCode: text(
    ({ address, minutes, userCode }: { address: string; minutes: number; userCode: string }) =>
      `Open this address in a browser, on any computer or phone:\n\n  ${address}\n\nEnter this code there within ${minutes} minutes:\n\n  ${userCode}\n`,
    { address: "https://login.example.com/device", minutes: 10, userCode: "BCDF-GHJK" },
  ),

  // The authorization server.
  issuerUnknown: text(
    ({ origin }: { origin: string }) =>
      `${origin} does not name an authorization server. Check the address, or use a personal token: moorage login --token`,
    { origin: "https://api.example.com" },
  ),
  issuerNotHttps: text(
    ({ issuer }: { issuer: string }) => `The authorization server ${issuer} must have an https address.`,
    { issuer: "http://login.example.com" },
  ),
  refusedByPerson: text(() => "You refused the sign-in in the browser. The command line is not signed in."),
  codeExpired: text(() => "The code has expired. Run moorage login again."),
  refused: text(
    ({ server, reason }: { server: string; reason: string }) => `${server} refused the sign-in: ${reason}.`,
    { server: "https://login.example.com", reason: "invalid_scope" },
  ),
  serverUnusable: text(
    ({ server, reason }: { server: string; reason: string }) =>
      `${server} does not answer, or its answer is invalid (${reason}).`,
    { server: "https://login.example.com", reason: "ECONNREFUSED" },
  ),

  // Sign-out.
  signedOut: text(
    ({ profile }: { profile: string }) =>
      `You are signed out: the token is revoked, and the profile ${profile} is deleted.`,
    { profile: "default" },
  ),
  profileDeleted: text(
    ({ profile }: { profile: string }) =>
      `The profile ${profile} is deleted. Its token stays valid. To revoke it, open Sign-in and security in your browser.`,
    { profile: "default" },
  ),
  notRevoked: text(
    ({ reason }: { reason: string }) =>
      `The token could not be revoked, so you are still signed in. ${reason}\nTry again, or delete the profile without revoking the token: moorage logout --local`,
    { reason: "https://login.example.com does not answer, or its answer is invalid (ECONNREFUSED)." },
  ),
});
