import { html } from "ghtml";
import type { NoticeOf } from "./mail-message.ts";

export type Mail = { subject: string; text: string; html: string };

/** A mail as paragraphs. A link is on its own line and in full, so that people see where it leads. */
type Draft = { subject: string; greeting: string; body: readonly string[]; link?: string; end: readonly string[] };

export const inviteMail = (to: { username: string; company: string }, link: string, hours: number): Mail =>
  write({
    subject: "You have a Moorage user",
    greeting: `Hello ${to.username},`,
    body: [
      `you were added as a user of ${to.company} at Moorage. Your user name is ${to.username}.`,
      `Choose a password to sign in with. This link works once, within ${hours} hours:`,
    ],
    link,
    end: ["If you do not know why you got this letter, you can ignore it."],
  });

export const resetMail = (to: { username: string }, link: string, hours: number): Mail =>
  write({
    subject: "Choose a new Moorage password",
    greeting: `Hello ${to.username},`,
    body: [
      "somebody, hopefully you, asked for a new password at Moorage.",
      `To choose one, open this link. It works once, within ${hours === 1 ? "an hour" : `${hours} hours`}:`,
    ],
    link,
    end: ["If it was not you, do nothing: your password stays as it is."],
  });

const notices: Record<NoticeOf, { subject: string; text: string }> = {
  password_changed: { subject: "Your Moorage password was changed", text: "your password was changed." },
  tfa_enabled: { subject: "Two-factor sign-in is on", text: "two-factor sign-in was turned on for you." },
  tfa_disabled: { subject: "Two-factor sign-in is off", text: "two-factor sign-in was turned off for you." },
  passkey_added: { subject: "A passkey was added", text: "a passkey was added, and can be used to sign in as you." },
  passkey_removed: { subject: "A passkey was removed", text: "one of your passkeys was removed." },
  address_changed: {
    subject: "Your Moorage mail address was changed",
    text: "your mail address was changed. Letters about you go to the new one from now on.",
  },
};

export const noticeMail = ({ username, what }: { username: string; what: NoticeOf }): Mail =>
  write({
    subject: notices[what].subject,
    greeting: `Hello ${username},`,
    body: [notices[what].text],
    end: ["If this was you, there is nothing to do. If not, choose a new password now and tell your operator."],
  });

function write({ subject, greeting, body, link, end }: Draft): Mail {
  const lines = [greeting, ...body, ...(link === undefined ? [] : [link]), ...end].map(onOneLine);
  const paragraphs = [greeting, ...body].map(onOneLine).map((line) => html`<p>${line}</p>`);
  const linked = link === undefined ? "" : html`<p><a href="${link}">${link}</a></p>`;
  const endings = end.map((line) => html`<p>${line}</p>`);
  return {
    subject,
    text: `${lines.join("\n\n")}\n`,
    html: html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${subject}</title><body>!${paragraphs}!${linked}!${endings}</body></html>`,
  };
}

/** Text that others chose, such as a company's name, must not add paragraphs. */
const onOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, " ");
