import { html } from "ghtml";
import { alert, field, form, type Html, layout, passkeyMessages } from "./layout.ts";
import { texts } from "./texts.ts";

type At = { uid: string; token: string; appLabel: string | undefined; fault?: string | undefined };

const onBehalfOf = (appLabel: string | undefined): Html =>
  appLabel === undefined ? "" : html`<p class="lead">to continue to <strong>${appLabel}</strong></p>`;

export const signInPage = ({ uid, token, appLabel, fault, name = "" }: At & { name?: string }): Html =>
  layout({
    title: "Sign in",
    script: true,
    body: html`!${onBehalfOf(appLabel)}
!${alert(fault)}
!${form(
      { action: `/interaction/${uid}/sign-in`, token },
      html`!${field({
        name: "name",
        label: "User name",
        autocomplete: "username webauthn",
        value: name,
        first: name === "",
        attributes: `autocapitalize="none" spellcheck="false" maxlength="200" ${fault === undefined ? "" : 'aria-describedby="alert"'}`,
      })}
!${field({
        name: "password",
        label: "Password",
        type: "password",
        autocomplete: "current-password",
        first: name !== "",
        attributes: `maxlength="1000" ${fault === undefined ? "" : 'aria-describedby="alert"'}`,
      })}
<button type="submit">Sign in</button>`,
    )}
!${form(
      {
        action: `/interaction/${uid}/passkey`,
        token,
        attributes: html`hidden data-passkey="get" data-options="/interaction/${uid}/passkey/options" !${passkeyMessages()}`,
      },
      html`<p class="or"><span>or</span></p>
<input type="hidden" name="credential" value="">
<button type="submit" class="second">Use a passkey</button>
<p role="status" class="fault"></p>`,
    )}
<p class="aside"><a href="/forgot">Forgot your password?</a></p>
!${appLabel === undefined ? "" : goBack(uid, token, appLabel)}`,
  });

export const codePage = ({ uid, token, appLabel, fault, username }: At & { username: string }): Html =>
  layout({
    title: "Second step",
    body: html`<p class="lead">Signing in as <strong>${username}</strong></p>
!${form(
      { action: `/interaction/${uid}/code`, token },
      html`!${field({
        name: "code",
        label: "Code",
        hint: texts.codeHint().text,
        autocomplete: "one-time-code",
        fault,
        first: true,
        attributes: 'autocapitalize="characters" spellcheck="false" maxlength="64"',
      })}
<button type="submit">Continue</button>`,
    )}
!${form({ action: `/interaction/${uid}/begin-again`, token }, html`<button type="submit" class="plain">Sign in as somebody else</button>`)}
!${appLabel === undefined ? "" : goBack(uid, token, appLabel)}`,
  });

const goBack = (uid: string, token: string, appLabel: string): Html =>
  form(
    { action: `/interaction/${uid}/refuse`, token },
    html`<button type="submit" class="plain">Go back to ${appLabel}</button>`,
  );
