import { html } from "ghtml";
import type { Text } from "@moorage/contract/texts";
import type { NoticeOf } from "./mail-message.ts";
import { texts } from "./texts.ts";

export type Mail = { subject: string; text: string; html: string };

/** A mail as paragraphs. A link is on its own line and in full, so that people see where it leads. */
type Draft = { subject: Text; greeting: Text; body: readonly Text[]; link?: string; end: readonly Text[] };

export const inviteMail = (to: { username: string; company: string }, link: string, hours: number): Mail =>
  write({
    subject: texts.inviteSubject(),
    greeting: texts.greeting(to),
    body: [texts.inviteAdded(to), texts.inviteLink({ hours })],
    link,
    end: [texts.inviteUnexpected()],
  });

export const resetMail = (to: { username: string }, link: string, hours: number): Mail =>
  write({
    subject: texts.resetSubject(),
    greeting: texts.greeting(to),
    body: [texts.resetRequested(), texts.resetLink({ hours })],
    link,
    end: [texts.resetUnexpected()],
  });

export const addressMail = (to: { username: string }, link: string, hours: number): Mail =>
  write({
    subject: texts.addressSubject(),
    greeting: texts.greeting(to),
    body: [texts.addressRequestedHere(), texts.addressLink({ hours })],
    link,
    end: [texts.addressUnexpected()],
  });

const notices: Record<NoticeOf, { subject: () => Text; body: () => Text }> = {
  password_changed: { subject: texts.passwordChangedSubject, body: texts.passwordChanged },
  tfa_enabled: { subject: texts.tfaEnabledSubject, body: texts.tfaEnabled },
  tfa_disabled: { subject: texts.tfaDisabledSubject, body: texts.tfaDisabled },
  passkey_added: { subject: texts.passkeyAddedSubject, body: texts.passkeyAdded },
  passkey_removed: { subject: texts.passkeyRemovedSubject, body: texts.passkeyRemoved },
  address_requested: { subject: texts.addressRequestedSubject, body: texts.addressRequested },
  address_changed: { subject: texts.addressChangedSubject, body: texts.addressChanged },
};

export const noticeMail = ({ username, what }: { username: string; what: NoticeOf }): Mail =>
  write({
    subject: notices[what].subject(),
    greeting: texts.greeting({ username }),
    body: [notices[what].body()],
    end: [texts.noticeUnexpected()],
  });

function write({ subject: { text: subject }, greeting, body, link, end }: Draft): Mail {
  const beginning = [greeting, ...body].map(onOneLine);
  const ending = end.map(onOneLine);
  const lines = [...beginning, ...(link === undefined ? [] : [link]), ...ending];
  const paragraphs = beginning.map((line) => html`<p>${line}</p>`);
  const linked = link === undefined ? "" : html`<p><a href="${link}">${link}</a></p>`;
  const endings = ending.map((line) => html`<p>${line}</p>`);
  return {
    subject,
    text: `${lines.join("\n\n")}\n`,
    html: html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${subject}</title><body>!${paragraphs}!${linked}!${endings}</body></html>`,
  };
}

/** Text that others chose, such as a company's name, must not add paragraphs. */
const onOneLine = ({ text }: Text): string => text.replaceAll(/\p{Cc}+/gu, " ");
