import { html } from "ghtml";
import { listOf, redirectTarget } from "./consent-page.ts";
import { field, form, type Html, layout, sentence } from "./layout.ts";
import { texts } from "./texts.ts";

type CodeForm = { action: string; fields: Record<string, string>; fault: string | undefined };

/** A form of the authorization server, like the sign-out form. */
export const userCodePage = ({ action, fields, fault }: CodeForm): Html =>
  layout({
    title: "Sign in the command line",
    body: html`<p class="lead">!${sentence(texts.deviceCode, {})}</p>
<form method="post" action="${action}">
!${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
!${field({
      name: "user_code",
      label: "Code",
      hint: texts.deviceCodeHint().text,
      autocomplete: "one-time-code",
      fault,
      first: true,
      attributes: 'autocapitalize="characters" spellcheck="false" maxlength="32"',
    })}
<button type="submit">Continue</button>
</form>
<p class="hint">${texts.deviceCodeWarning().text}</p>`,
  });

export const deviceSignedInPage = (): Html =>
  layout({
    title: texts.deviceSignedInTitle().text,
    body: html`<p class="lead">${texts.deviceSignedIn().text}</p>
<p class="aside"><a href="/security">Sign-in and security</a></p>`,
  });

type LoginConsent = {
  uid: string;
  token: string;
  username: string;
  scopes: readonly string[];
  redirectsTo: string;
  commandLine: {
    machine: string;
    label: string;
    days: number;
    device: { userCode: string; address: string } | undefined;
  };
};

/** Names the requesting computer, so that nobody signs in somebody else's. */
export const commandLineConsentPage = ({
  uid,
  token,
  username,
  scopes,
  redirectsTo,
  commandLine,
}: LoginConsent): Html =>
  layout({
    title: "Sign in the command line?",
    body: html`<p class="lead">!${sentence(texts.loginRequested, { username })}</p>
<dl class="facts">
<div><dt>Computer</dt><dd>${commandLine.machine}</dd></div>
!${
      commandLine.device === undefined
        ? ""
        : html`<div><dt>Requested from</dt><dd>${commandLine.device.address}</dd></div>
<div><dt>Code</dt><dd><code>${commandLine.device.userCode}</code></dd></div>`
    }
</dl>
<p class="warning">!${
      commandLine.device === undefined
        ? html`!${sentence(texts.loginByBrowserWarning, {})} !${redirectTarget(redirectsTo)}`
        : sentence(texts.loginByCodeWarning, {})
    }</p>
!${
      scopes.includes("*")
        ? html`<p>${texts.loginAccessToEverything().text}</p>`
        : html`<p>It can then:</p>!${listOf(scopes)}`
    }
<p class="hint">${texts.loginToken(commandLine).text}</p>
!${form({ action: `/interaction/${uid}/consent`, token }, html`<button type="submit">Sign it in</button>`)}
!${form({ action: `/interaction/${uid}/refuse`, token }, html`<button type="submit" class="second">Refuse</button>`)}
<p class="aside"><a href="/logout">Not ${username}? Sign out</a></p>`,
  });
