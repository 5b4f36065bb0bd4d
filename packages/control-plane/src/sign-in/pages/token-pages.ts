import { areas } from "@moorage/contract";
import { html } from "ghtml";
import {
  fieldOf,
  lasting,
  levels,
  LONGEST_LABEL,
  type TokenFaults,
  type TokenForm,
  usedAreas,
  whole,
} from "../rules/token-form.ts";
import { inWords } from "./consent-page.ts";
import { day, field, form, type Html, layout, sentence } from "./layout.ts";
import { texts } from "./texts.ts";

export type ShownToken = {
  id: number;
  label: string;
  prefix: string;
  scopes: readonly string[];
  created: Date;
  expires: Date | null;
  isOver: boolean;
  /** Created by `moorage login`. */
  isLogin: boolean;
  /** Before it may change who can act on the account. */
  needsConfirmation: boolean;
};

/** The list of tokens on the security page. */
export const tokensPart = (token: string, tokens: readonly ShownToken[]): Html =>
  html`<section aria-labelledby="tokens"><h2 id="tokens">Personal tokens</h2>
<p>!${sentence(texts.tokens, {})}</p>
!${tokens.length === 0 ? html`<p class="hint">${texts.noToken().text}</p>` : html`<ul class="rows">!${tokens.map((each) => row(token, each))}</ul>`}
<p><a class="button second" href="/security/tokens/new">Create a token</a></p>
</section>`;

const row = (token: string, each: ShownToken): Html =>
  html`<li><div><strong>${each.label}</strong> <code>${each.prefix}…</code><br>
<span class="hint">${scopesInWords(each.scopes)}<br>
Created ${day(each.created)}${each.isLogin ? " by moorage login" : ""}, ${until(each)}</span></div>
!${each.needsConfirmation && !each.isOver ? form({ action: `/security/tokens/${each.id}/confirm`, token }, html`<button type="submit" class="small" aria-label="Confirm ${each.label}, ${each.prefix}">Confirm</button>`) : ""}
!${form({ action: `/security/tokens/${each.id}/revoke`, token }, html`<button type="submit" class="small danger" aria-label="Revoke ${each.label}, ${each.prefix}">Revoke</button>`)}</li>`;

function until({ expires, isOver }: ShownToken): string {
  if (expires === null) return "never expires";
  return isOver ? `expired ${day(expires)}` : `expires ${day(expires)}`;
}

function scopesInWords(scopes: readonly string[]): string {
  if (scopes.includes("*")) return "Everything that you may do";
  if (scopes.length > 3) return scopes.join(", ");
  return scopes.map(inWords).join("; ");
}

const words = {
  all: "Everything that I may do",
  view: "View everything, change nothing",
  some: "Only what I choose below",
} as const;
const levelWords = { none: "Nothing", read_only: "View", read_write: "View and change" } as const;

type NewToken = { token: string; form?: TokenForm; faults?: TokenFaults };

export const newTokenPage = ({ token, form: given = {}, faults = {} }: NewToken): Html =>
  layout({
    title: "Create a token",
    wide: true,
    body: html`<p class="lead">${texts.newToken().text}</p>
!${form(
      { action: "/security/tokens", token },
      html`!${field({
        name: "label",
        label: "Name",
        hint: texts.tokenNameHint().text,
        autocomplete: "off",
        value: given["label"] ?? "",
        fault: faults.label?.text,
        first: true,
        attributes: html`maxlength="${LONGEST_LABEL}"`,
      })}
<fieldset !${faults.what === undefined ? "" : 'aria-describedby="what-fault"'}><legend>What it may do</legend>
!${whole.map(
        (each) =>
          html`<label class="choice"><input type="radio" name="what" value="${each}" required !${given["what"] === each ? "checked" : ""}> ${words[each]}</label>`,
      )}
!${faults.what === undefined ? "" : html`<p class="fault" id="what-fault">${faults.what.text}</p>`}
</fieldset>
<fieldset class="areas"><legend>If you choose</legend>
!${usedAreas.map(
        (area) => html`<div class="area"><label for="${fieldOf(area)}">${capital(areas[area])}</label>
<select id="${fieldOf(area)}" name="${fieldOf(area)}">!${levels.map(
          (level) =>
            html`<option value="${level}" !${given[fieldOf(area)] === level ? "selected" : ""}>${levelWords[level]}</option>`,
        )}</select></div>`,
      )}
</fieldset>
<div class="field"><label for="expiry">How long it lasts</label>
<select id="expiry" name="expiry" !${faults.expiry === undefined ? "" : 'aria-describedby="expiry-fault" aria-invalid="true"'}>!${Object.entries(
        lasting,
      ).map(
        ([value, text]) =>
          html`<option value="${value}" !${(given["expiry"] ?? "90") === value ? "selected" : ""}>${text}</option>`,
      )}</select>
!${faults.expiry === undefined ? "" : html`<p class="fault" id="expiry-fault">${faults.expiry.text}</p>`}
</div>
<button type="submit">Create the token</button>`,
    )}
<p class="aside"><a href="/security">Back without a token</a></p>`,
  });

const capital = (text: string): string => {
  const bare = text.replace(/^your /, "");
  return bare.charAt(0).toUpperCase() + bare.slice(1);
};

/** The only page with the full token. */
export const tokenCreatedPage = (made: { label: string; token: string; apiUrl: string | undefined }): Html => {
  const url = made.apiUrl ?? "https://<the API's address>";
  return layout({
    title: texts.tokenCreatedTitle().text,
    wide: true,
    body: html`<p class="lead">${texts.tokenCreated(made).text}</p>
<div class="field"><label for="made-token">Token</label>
<p class="hint" id="made-token-hint">${texts.tokenCopyHint().text}</p>
<textarea id="made-token" rows="2" readonly autofocus autocomplete="off" spellcheck="false" aria-describedby="made-token-hint">${made.token}</textarea></div>
<h2>Use it</h2>
<ul class="uses">
<li>${texts.tokenForCommandLine().text} <code class="command">moorage login --token --url ${url}</code></li>
<li>${texts.tokenForSdks().text} <code>${url}</code></li>
<li>For curl: <code class="command">curl -H "Authorization: Bearer $MOORAGE_TOKEN" ${url}/v4/profile</code></li>
</ul>
<p><a class="button" href="/security">I have copied it</a></p>`,
  });
};
