import { html } from "ghtml";
import { listOf, redirectTarget } from "./consent-page.ts";
import { field, form, type Html, layout } from "./layout.ts";

type CodeForm = { action: string; fields: Record<string, string>; fault: string | undefined };

/** A form of the authorization server, like the sign-out form. */
export const userCodePage = ({ action, fields, fault }: CodeForm): Html =>
  layout({
    title: "Sign in the command line",
    body: html`<p class="lead">Type the code that <code>moorage login</code> shows in your terminal.</p>
<form method="post" action="${action}">
!${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
!${field({
      name: "user_code",
      label: "Code",
      hint: "Eight letters, such as BCDF-GHJK.",
      autocomplete: "one-time-code",
      fault,
      first: true,
      attributes: 'autocapitalize="characters" spellcheck="false" maxlength="32"',
    })}
<button type="submit">Continue</button>
</form>
<p class="hint">Only type a code that you see in your own terminal. A code that somebody sent you would sign them in as you.</p>`,
  });

export const deviceSignedInPage = (): Html =>
  layout({
    title: "The command line is signed in",
    body: html`<p class="lead">Go back to your terminal: it goes on by itself within a few seconds. You can close this page.</p>
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
    body: html`<p class="lead"><code>moorage login</code> asks to be signed in as <strong>${username}</strong>.</p>
<dl class="facts">
<div><dt>Computer</dt><dd>${commandLine.machine}</dd></div>
!${
      commandLine.device === undefined
        ? ""
        : html`<div><dt>Asked from</dt><dd>${commandLine.device.address}</dd></div>
<div><dt>Code</dt><dd><code>${commandLine.device.userCode}</code></dd></div>`
    }
</dl>
<p class="warning">!${
      commandLine.device === undefined
        ? html`Only go on if you have just run <code>moorage login</code> on this computer. !${redirectTarget(redirectsTo)}`
        : html`Only go on if you have just run <code>moorage login</code> yourself and your terminal shows this code. If somebody sent you the code, refuse: they would get into your account.`
    }</p>
!${
      scopes.includes("*")
        ? html`<p>It can then do everything that you may do.</p>`
        : html`<p>It can then:</p>!${listOf(scopes)}`
    }
<p class="hint">It gets a personal token, “${commandLine.label}”, which ends after ${commandLine.days} days. To end it earlier, run <code>moorage logout</code> there, or revoke it under Sign-in and security.</p>
!${form({ action: `/interaction/${uid}/consent`, token }, html`<button type="submit">Sign it in</button>`)}
!${form({ action: `/interaction/${uid}/refuse`, token }, html`<button type="submit" class="second">Refuse</button>`)}
<p class="aside"><a href="/logout">Not ${username}? Sign out</a></p>`,
  });
