import { defineTexts, text } from "@moorage/contract/texts";

/** Pages of the authorization server. A key that ends in `Title` is the heading of the page with the text. */
export const texts = defineTexts("sign_in", {
  endedTitle: text(() => "This sign-in has ended"),
  ended: text(
    () =>
      "The sign-in took too long, was finished already, or was started in another browser. Go back to where you came from and start again.",
  ),
  formExpected: text(() => "The body must be a form: application/x-www-form-urlencoded or multipart/form-data."),
  formUnreadable: text(
    ({ fields, bytes }: { fields: number; bytes: number }) =>
      `The multipart form cannot be read. It may have at most ${fields} fields of at most ${bytes} bytes each, and no files.`,
    { fields: 30, bytes: 8192 },
  ),

  pageMissingTitle: text(() => "There is no page at this address"),
  pageMissing: text(() => "Check the address, or go back to where you came from."),
  requestRefusedTitle: text(() => "The request was refused"),
  tooManyRequestsTitle: text(() => "Too many requests"),
  tooManyRequests: text(() => "Wait a minute, then try again."),
  failedTitle: text(() => "The server failed"),
  failed: text(() => "The server could not process the request. Try again in a minute."),

  // The page on which a person types in the code of `moorage login`.
  deviceRefusedTitle: text(() => "The command line is not signed in"),
  deviceRefused: text(() => "You refused the sign-in. The command line got no access. You can close this page."),
  deviceCodeMissing: text(() => "Type the code that your terminal shows."),
  deviceCodeUnknown: text(() => "There is no such code. Compare it with your terminal: the code has eight letters."),
  deviceCodeExpired: text(() => "This code has expired. Run moorage login again and type the new code."),
  deviceCodeUsed: text(() => "This code was used before. Run moorage login again and type the new code."),
  deviceSignInEnded: text(() => "This sign-in has ended. Run moorage login again and type the new code."),
  deviceFailed: text(() => "The server could not check the code. Try again in a minute."),
});

/**
 * Errors of OAuth. The texts that are an `error_description` have only the characters that RFC 6749 allows: ASCII
 * without quotation marks and backslashes. Like those of `oidc-provider` they are one clause without a full stop.
 */
export const oauthTexts = defineTexts("oauth", {
  // Pages, for a person who cannot fix an app's error but can report it to its makers.
  clientUnknownTitle: text(() => "This app is not registered"),
  clientUnknown: text(() => "The app was never registered here, or it was deleted, disabled or suspended."),
  redirectNotRegisteredTitle: text(() => "This app cannot be used"),
  redirectNotRegistered: text(
    () =>
      "The app requested a redirect to an address that it has not registered. The app got no access. Report this to the makers of the app.",
  ),
  failedTitle: text(() => "The server failed"),
  failed: text(() => "The server could not process the request of the app. The app got no access. Try again."),
  requestInvalidTitle: text(() => "The request of this app is not valid"),
  /** `reason` is an `error_description`, or an error code of OAuth. */
  requestInvalid: text(
    ({ reason }: { reason: string }) => `The app got no access. Report this to the makers of the app: ${reason}.`,
    { reason: "missing required parameter(s) 'response_type'" },
  ),

  // error_description.
  grantInvalid: text(
    () =>
      "the code or refresh token is unknown, expired, used before, revoked or another client's, or redirect_uri or code_verifier does not match it: send the person to sign in again",
  ),
  clientInvalid: text(() => "client_id or client_secret is wrong, or the client was deleted, disabled or suspended"),
  accessDenied: text(() => "the person refused access"),
  scopeUnknown: text(
    ({ scopes }: { scopes: readonly string[] }) => `there is no scope ${scopes.join(" and no scope ")}`,
    { scopes: ["sails:read_only"] },
  ),
  scopeMissing: text(() => "scope must name the access that the app requests, such as databases:read_only"),
  slowDown: text(
    ({ seconds }: { seconds: number }) => `the device polls too often: wait ${seconds} more seconds before each poll`,
    { seconds: 5 },
  ),
  serverFailed: text(() => "the server failed to process the request: retry the request"),
});
