import { html } from "ghtml";
import { texts as notices } from "../rules/texts.ts";
import { alert, day, done, field, form, type Html, layout, passkeyMessages, sentence } from "./layout.ts";
import { newPasswordFields } from "./password-pages.ts";
import { texts } from "./texts.ts";
import { type ShownToken, tokensPart } from "./token-pages.ts";

export type SecurityView = {
  token: string;
  username: string;
  email: string;
  hasPassword: boolean;
  twoFactor: { on: boolean; scratchCodesLeft: number };
  passkeys: readonly { id: number; label: string; created: Date; used: Date | null }[];
  tokens: readonly ShownToken[];
  done?: string | undefined;
  fault?: string | undefined;
  passwordFault?: string | undefined;
};

export const securityPage = (view: SecurityView): Html =>
  layout({
    title: "Sign-in and security",
    wide: true,
    script: true,
    body: html`<p class="lead">!${sentence(texts.signedInAs, { username: view.username })} ${texts.mailsGoTo(view).text}</p>
!${done(view.done)}!${alert(view.fault)}
!${tokensPart(view.token, view.tokens)}
!${passwordPart(view)}
!${twoFactorPart(view)}
!${passkeysPart(view)}
<section aria-labelledby="sessions"><h2 id="sessions">Where you are signed in</h2>
<p>${texts.signOutEverywhere().text}</p>
!${form({ action: "/security/sign-out-everywhere", token: view.token }, html`<button type="submit" class="second">Sign out everywhere</button>`)}
<p class="aside"><a href="/logout">Sign out here only</a></p>
</section>`,
  });

const passwordPart = ({ token, username, hasPassword, passwordFault }: SecurityView): Html =>
  html`<section aria-labelledby="password-part"><h2 id="password-part">Password</h2>
<p>${(hasPassword ? texts.newPasswordSignsOut() : texts.noPassword()).text}</p>
!${form(
    { action: "/security/password", token },
    html`!${newPasswordFields(username, passwordFault, passwordFault !== undefined)}
<button type="submit" class="second">${hasPassword ? "Change the password" : "Save the password"}</button>`,
  )}
</section>`;

function twoFactorPart({ token, twoFactor: { on, scratchCodesLeft } }: SecurityView): Html {
  const state = on
    ? html`<p><span class="on">On.</span> ${texts.tfaOnExplained({ left: scratchCodesLeft }).text}</p>
!${form({ action: "/security/tfa/disable", token }, html`<button type="submit" class="second danger">Turn it off</button>`)}`
    : html`<p><span class="off">Off.</span> ${texts.tfaOffExplained().text}</p>
!${form({ action: "/security/tfa", token }, html`<button type="submit" class="second">Turn it on</button>`)}`;
  return html`<section aria-labelledby="tfa"><h2 id="tfa">Two-factor sign-in</h2>!${state}</section>`;
}

const passkeysPart = ({ token, passkeys }: SecurityView): Html =>
  html`<section aria-labelledby="passkeys"><h2 id="passkeys">Passkeys</h2>
<p>${texts.passkeys().text}</p>
!${passkeys.length === 0 ? "" : html`<ul class="rows">!${passkeys.map((passkey) => passkeyRow(token, passkey))}</ul>`}
!${form(
    {
      action: "/security/passkeys",
      token,
      attributes: html`hidden data-passkey="create" data-options="/security/passkeys/options" !${passkeyMessages()}`,
    },
    html`!${field({
      name: "label",
      label: "Name of this device",
      autocomplete: "off",
      hint: texts.passkeyNameHint().text,
      attributes: 'maxlength="50"',
    })}
<input type="hidden" name="credential" value="">
<button type="submit" class="second">Add a passkey</button>
<p role="status" class="fault"></p>`,
  )}
<noscript><p class="hint">${texts.passkeyNeedsScript().text}</p></noscript>
</section>`;

const passkeyRow = (token: string, { id, label, created, used }: SecurityView["passkeys"][number]): Html =>
  html`<li><div><strong>${label}</strong><br><span class="hint">Added ${day(created)}, ${used === null ? "not used yet" : `last used ${day(used)}`}</span></div>
!${form({ action: `/security/passkeys/${id}/remove`, token }, html`<button type="submit" class="small danger" aria-label="Remove ${label}">Remove</button>`)}</li>`;

export const twoFactorPage = (at: { token: string; secret: string; fault?: string | undefined }): Html =>
  layout({
    title: "Turn on two-factor sign-in",
    body: html`<ol class="steps">
<li>${texts.tfaScan().text}<br><img class="qr" src="/security/tfa.svg" alt="${texts.tfaQrCode().text}" width="200" height="200">
<p class="hint">${texts.tfaTypeSecret().text} <code>${(at.secret.match(/.{1,4}/g) ?? []).join(" ")}</code></p></li>
<li>${texts.tfaTypeCode().text}
!${form(
      { action: "/security/tfa/confirm", token: at.token },
      html`!${field({
        name: "code",
        label: "Code",
        autocomplete: "one-time-code",
        fault: at.fault,
        first: true,
        attributes: 'inputmode="numeric" maxlength="16"',
      })}
<button type="submit">Turn it on</button>`,
    )}</li></ol>
<p class="aside"><a href="/security">Not now</a></p>`,
  });

export const scratchCodesPage = (codes: readonly string[]): Html =>
  layout({
    title: texts.scratchCodesTitle().text,
    body: html`!${done(notices.tfaOn().text)}
<p>${texts.scratchCodes().text}</p>
<ul class="codes">!${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p><a class="button" href="/security">I have kept them</a></p>`,
  });
