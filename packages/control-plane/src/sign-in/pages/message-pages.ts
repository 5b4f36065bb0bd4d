import { html } from "ghtml";
import { alert, type Html, layout } from "./layout.ts";

/** What went wrong, and what a person can do about it. */
export const errorPage = ({ title, text }: { title: string; text: string }): Html =>
  layout({ title, body: html`!${alert(text)}<p class="aside"><a href="/security">Sign-in and security</a></p>` });

export const tooManyPage = (seconds: number, back: string): Html =>
  layout({
    title: "Too many attempts",
    body: html`!${alert(`For safety nothing is tried from here for now. Try again in ${inWords(seconds)}.`)}
<p class="hint">Whoever knows the right password gets in from another network meanwhile, or with a passkey.</p>
<p class="aside"><a href="${back}">Go back</a></p>`,
  });

/** A form of the authorization server: submitting these fields ends the session. */
export const signOutPage = ({ action, fields }: { action: string; fields: Record<string, string> }): Html =>
  layout({
    title: "Sign out?",
    body: html`<p class="lead">Apps that you let in stay so.</p>
<form method="post" action="${action}">
!${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button type="submit">Sign out</button>
</form>
<p class="aside"><a href="/security">Stay signed in</a></p>`,
  });

export const signedOutPage = ({ everywhere = false }: { everywhere?: boolean } = {}): Html =>
  layout({
    title: "You are signed out",
    body: html`<p class="lead">${everywhere ? "In this browser, and in every other." : "In this browser."} You can close this page.</p>
<p><a class="button" href="/security">Sign in again</a></p>`,
  });

function inWords(seconds: number): string {
  if (seconds < 60) return seconds === 1 ? "a second" : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}
