import { html } from "ghtml";
import { texts } from "../texts.ts";
import type { Html } from "./layout.ts";

/** What `passkeys.js` shows, as an attribute of its form: by the name of the browser's error, or by our own names. */
export const passkeyMessages = (): Html => {
  const messages = {
    NotAllowedError: texts.passkeyCancelled(),
    InvalidStateError: texts.passkeyOnThisDevice(),
    SecurityError: texts.passkeyNotAtThisAddress(),
    tooMany: texts.passkeyTooManyAttempts(),
    failed: texts.passkeyFailed(),
  };
  const sentences = Object.fromEntries(Object.entries(messages).map(([name, { text }]) => [name, text]));
  return html`data-messages="${JSON.stringify(sentences)}"`;
};
