import type { Text } from "@moorage/contract/texts";
import { html } from "ghtml";
import { texts } from "../rules/texts.ts";
import { assets } from "./assets.ts";

/** Escaped HTML, produced by `html`. Everything else in a page is text. */
export type Html = string;

export type Page = { title: string; body: Html; wide?: boolean; script?: boolean };

export const layout = ({ title, body, wide = false, script = false }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Moorage</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="${assets.icon.path}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style.path}">
!${script ? html`<script src="${assets.passkeys.path}" type="module"></script>` : ""}
</head>
<body>
<header class="brand"><img src="${assets.icon.path}" alt="" width="36" height="36"><span>Moorage</span></header>
<main class="card${wide ? " wide" : ""}">
<h1>${title}</h1>
!${body}
</main>
</body>
</html>
`;

/** The token proves that a form came from our page. */
export const form = (to: { action: string; token: string; attributes?: Html }, fields: Html): Html =>
  html`<form method="post" action="${to.action}" !${to.attributes ?? ""}>
<input type="hidden" name="form_token" value="${to.token}">
!${fields}
</form>`;

type Field = {
  name: string;
  label: string;
  type?: "text" | "password";
  autocomplete: string;
  value?: string;
  hint?: string;
  fault?: string | undefined;
  /** Gets the focus. */
  first?: boolean;
  attributes?: Html;
};

export function field({
  name,
  label,
  type = "text",
  autocomplete,
  value = "",
  hint,
  fault,
  first,
  attributes,
}: Field): Html {
  const described = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(fault === undefined ? [] : [`${name}-fault`]),
  ];
  return html`<div class="field">
<label for="${name}">${label}</label>
!${hint === undefined ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`}
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}" required
!${described.length === 0 ? "" : html`aria-describedby="${described.join(" ")}"`} !${fault === undefined ? "" : 'aria-invalid="true"'}
!${first === true ? "autofocus" : ""} !${attributes ?? ""}>
!${fault === undefined ? "" : html`<p class="fault" id="${name}-fault">${fault}</p>`}
</div>`;
}

/**
 * A text as HTML: its arguments are emphasised, and words in backticks become code. The arguments are inserted last, so
 * that nothing in them is taken for markup.
 */
export function sentence<Args extends Record<string, string>>(write: (args: Args) => Text, args: Args): Html {
  const values: Record<string, string> = args;
  const marks = Object.fromEntries(Object.keys(args).map((name) => [name, `{${name}}`])) as Args;
  return html`${write(marks).text}`
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\{(\w+)\}/g, (_mark, name: string) => html`<strong>${values[name] ?? ""}</strong>`);
}

/** Screen readers announce it as soon as the page loads. */
export const alert = (text: string | undefined): Html =>
  text === undefined ? "" : html`<p class="alert" role="alert" id="alert">${text}</p>`;
export const done = (text: string | undefined): Html =>
  text === undefined ? "" : html`<p class="done" role="status">${text}</p>`;

export const day = (at: Date): string => at.toISOString().slice(0, 10);

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
