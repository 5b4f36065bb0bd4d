import { errors } from "oidc-provider";

export type ErrorText = { title: string; text: string };

/** The pages that belong to no interaction. How they look is the business of whoever makes them. */
export type Pages = {
  error(what: ErrorText): string;
  /** A form that posts these hidden fields. */
  signOut(form: { action: string; fields: Record<string, string> }): string;
  signedOut(): string;
};

export const ENDED: ErrorText = {
  title: "This sign-in has ended",
  text: "It took too long, was finished already, or was begun in another browser. Go back to where you came from and begin again.",
};

/** For a person, who cannot mend what an app did, but can tell its makers. */
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
