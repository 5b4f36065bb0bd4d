import { html } from "ghtml";
import { alert, done, form, type Html, layout } from "./layout.ts";
import { texts } from "./texts.ts";

export const confirmAddressPage = (at: { token: string; username: string; email: string }): Html =>
  layout({
    title: texts.confirmAddressTitle().text,
    body: html`<p class="lead">${texts.confirmAddress(at).text}</p>
!${form({ action: "/address", token: at.token }, html`<button type="submit">Confirm the address</button>`)}
<p class="aside"><a href="/security">Keep the present address</a></p>`,
  });

export const addressConfirmedPage = ({ email }: { email: string }): Html =>
  layout({
    title: texts.addressConfirmedTitle().text,
    body: html`!${done(texts.mailsGoTo({ email }).text)}<p class="aside"><a href="/security">Sign-in and security</a></p>`,
  });

export const deadAddressLinkPage = (): Html =>
  layout({
    title: texts.linkInvalidTitle().text,
    body: html`!${alert(texts.addressLinkInvalid().text)}<p class="aside"><a href="/security">Sign-in and security</a></p>`,
  });
