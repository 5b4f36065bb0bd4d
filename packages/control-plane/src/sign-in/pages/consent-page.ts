import { type Area, areas } from "@moorage/contract";
import { html } from "ghtml";
import { alert, form, type Html, layout, sentence } from "./layout.ts";
import { texts } from "./texts.ts";

type AppConsent = {
  uid: string;
  token: string;
  app: { label: string; owner: string; thumbnailUrl: string | null; redirectsTo: string; verified: boolean };
  username: string;
  scopes: readonly string[];
};

export const consentPage = ({ uid, token, app, username, scopes }: AppConsent): Html =>
  layout({
    title: `Let ${app.label} in?`,
    body: html`<div class="app">
!${app.thumbnailUrl === null ? html`<span class="initial" aria-hidden="true">${Array.from(app.label)[0]?.toUpperCase() ?? ""}</span>` : html`<img src="${app.thumbnailUrl}" alt="" width="64" height="64">`}
<p>!${sentence(texts.accessRequested, { app: app.label, username })}</p>
</div>
!${scopes.includes("*") ? everything(app.label) : html`<h2>It could then</h2>!${listOf(scopes)}`}
<p class="hint">${(app.verified ? texts.appVerified(app) : texts.appOfOwnAccount(app)).text} !${redirectTarget(app.redirectsTo)} ${texts.accessRevocable().text}</p>
!${form({ action: `/interaction/${uid}/consent`, token }, html`<button type="submit">Let it in</button>`)}
!${form({ action: `/interaction/${uid}/refuse`, token }, html`<button type="submit" class="second">Refuse</button>`)}
<p class="aside"><a href="/logout">Not ${username}? Sign out</a></p>`,
  });

/** For users of other accounts than its own. */
export const appNotVerifiedPage = ({
  uid,
  token,
  app,
}: {
  uid: string;
  token: string;
  app: { label: string; owner: string };
}): Html =>
  layout({
    title: texts.appNotVerifiedTitle().text,
    body: html`!${alert(texts.appNotVerified(app).text)}
!${form({ action: `/interaction/${uid}/refuse`, token }, html`<button type="submit" class="second">Go back</button>`)}`,
  });

export const listOf = (scopes: readonly string[]): Html =>
  html`<ul class="scopes">!${scopes.map((scope) => html`<li>${inWords(scope)}</li>`)}</ul>`;

const everything = (label: string): Html => html`<div class="warning"><h2>It could then do everything</h2>
<p><strong>${texts.accessToEverything().text}</strong> ${texts.accessToEverythingExplained({ app: label }).text}</p></div>`;

/** A scope in plain words, each area separately, so that people read exactly what they agree to. */
export function inWords(scope: string): string {
  const [area, level] = scope.split(":") as [Area, string];
  const what = areas[area];
  if (what === undefined) return scope;
  if (level === "read_only") return `View ${what}`;
  return `View and change ${what}`;
}

export function redirectTarget(address: string): Html {
  const url = URL.parse(address);
  if (url === null) return "";
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return sentence(texts.redirectToScheme, { scheme: url.protocol });
  return sentence(url.protocol === "http:" ? texts.redirectToProgram : texts.redirectToSite, { host: url.host });
}
