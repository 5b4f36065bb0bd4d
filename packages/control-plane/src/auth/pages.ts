import { errors } from "oidc-provider";

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

export const ENDED: ErrorText = {
  title: "This sign-in has ended",
  text: "It took too long, was finished already, or was begun in another browser. Go back to where you came from and begin again.",
};

/** For a person, who cannot fix an app's error but can report it to its makers. */
export function errorText(error: string, cause: Error): ErrorText {
  if (cause instanceof errors.SessionNotFound) return ENDED;
  if (error === "invalid_client")
    return { title: "We do not know this app", text: "It was not registered here, or it was removed or shut out." };
  if (error === "invalid_redirect_uri")
    return {
      title: "This app cannot be used",
      text: "It wants to send you to an address that it has not registered. Nothing was given to it.",
    };
  if (error === "server_error")
    return { title: "Something went wrong on our side", text: "Nothing was given to the app. Please try again." };
  const reason = (cause as { error_description?: string }).error_description ?? error;
  return {
    title: "This app asked in a way that we do not understand",
    text: `Its makers may want to know: ${reason}.`,
  };
}

export const DEVICE_REFUSED: ErrorText = {
  title: "The command line is not signed in",
  text: "You refused, so nothing was given to it. You can close this page.",
};

const deviceFaults: Record<string, string> = {
  NoCodeError: "Type the code that your terminal shows.",
  NotFoundError: "There is no such code. Compare it with your terminal: it has eight letters.",
  ExpiredError: "This code has expired. Run moorage login again and type the new code.",
  AlreadyUsedError: "This code was used before. Run moorage login again and type the new code.",
};

/** Undefined: no error so far. */
export function deviceFault(error: string | undefined, cause: Error | undefined): string | undefined {
  if (cause === undefined) return undefined;
  const known = deviceFaults[cause.name];
  if (known !== undefined) return known;
  return error === "server_error"
    ? "Something went wrong on our side. Please try again."
    : "This sign-in has ended. Run moorage login again and type the new code.";
}
