import { errors } from "oidc-provider";
import type { Text } from "@moorage/contract/texts";
import { oauthTexts, texts } from "./texts.ts";

export type ErrorText = { title: string; text: string };

/** The pages outside of interactions. The caller provides their HTML. */
export type Pages = {
  error(what: ErrorText): string;
  /** A form that posts these hidden fields. */
  signOut(form: { action: string; fields: Record<string, string> }): string;
  signedOut(): string;
  /** A form for the code that a device shows (`user_code`), with these hidden fields. */
  userCode(form: { action: string; fields: Record<string, string>; fault: string | undefined }): string;
  deviceSignedIn(): string;
};

const pageOf = (title: Text, text: Text): ErrorText => ({ title: title.text, text: text.text });

/** For a person, who cannot fix an app's error but can report it to its makers. */
export function errorText(error: string, cause: Error): ErrorText {
  if (cause instanceof errors.SessionNotFound) return pageOf(texts.endedTitle(), texts.ended());
  if (error === "invalid_client") return pageOf(oauthTexts.clientUnknownTitle(), oauthTexts.clientUnknown());
  if (error === "invalid_redirect_uri")
    return pageOf(oauthTexts.redirectNotRegisteredTitle(), oauthTexts.redirectNotRegistered());
  if (error === "server_error") return pageOf(oauthTexts.failedTitle(), oauthTexts.failed());
  const reason = (cause as { error_description?: string }).error_description ?? error;
  return pageOf(oauthTexts.requestInvalidTitle(), oauthTexts.requestInvalid({ reason }));
}

export const DEVICE_REFUSED = pageOf(texts.deviceRefusedTitle(), texts.deviceRefused());

/** By the name of the provider's error. */
const deviceFaults: Record<string, Text> = {
  NoCodeError: texts.deviceCodeMissing(),
  NotFoundError: texts.deviceCodeUnknown(),
  ExpiredError: texts.deviceCodeExpired(),
  AlreadyUsedError: texts.deviceCodeUsed(),
};

/** Undefined: no error so far. */
export function deviceFault(error: string | undefined, cause: Error | undefined): string | undefined {
  if (cause === undefined) return undefined;
  const unknown = error === "server_error" ? texts.deviceFailed() : texts.deviceSignInEnded();
  return (deviceFaults[cause.name] ?? unknown).text;
}
