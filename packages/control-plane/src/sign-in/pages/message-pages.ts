import { html } from "ghtml";
import type { Text } from "@moorage/contract/texts";
import { texts as refusals } from "../rules/texts.ts";
import { alert, type Html, layout } from "./layout.ts";
import { texts } from "./texts.ts";

/** What went wrong, and what a person can do about it. */
export const errorPage = ({ title, text }: { title: string; text: string }): Html =>
  layout({ title, body: html`!${alert(text)}<p class="aside"><a href="/security">Sign-in and security</a></p>` });

export const tooManyAttempts = (seconds: number): Text => refusals.tooManyAttempts({ wait: inWords(seconds) });

export const tooManyPage = (seconds: number, back: string): Html =>
  layout({
    title: refusals.tooManyAttemptsTitle().text,
    body: html`!${alert(tooManyAttempts(seconds).text)}
<p class="hint">${texts.tooManyAttemptsHint().text}</p>
<p class="aside"><a href="${back}">Go back</a></p>`,
  });

/** A form of the authorization server: submitting these fields ends the session. */
export const signOutPage = ({ action, fields }: { action: string; fields: Record<string, string> }): Html =>
  layout({
    title: "Sign out?",
    body: html`<p class="lead">${texts.signOutExplained().text}</p>
<form method="post" action="${action}">
!${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button type="submit">Sign out</button>
</form>
<p class="aside"><a href="/security">Stay signed in</a></p>`,
  });

export const signedOutPage = ({ everywhere = false }: { everywhere?: boolean } = {}): Html =>
  layout({
    title: texts.signedOutTitle().text,
    body: html`<p class="lead">${(everywhere ? texts.signedOutEverywhere() : texts.signedOut()).text}</p>
<p><a class="button" href="/security">Sign in again</a></p>`,
  });

function inWords(seconds: number): string {
  if (seconds < 60) return seconds === 1 ? "a second" : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}
