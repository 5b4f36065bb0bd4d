import { html } from "ghtml";
import { alert, field, form, type Html, layout } from "./layout.ts";

export const forgotPage = ({ token }: { token: string }): Html =>
  layout({
    title: "Forgot your password?",
    body: html`<p class="lead">We send a link to your mail address, by which you choose a new one.</p>
!${form(
      { action: "/forgot", token },
      html`!${field({
        name: "name",
        label: "User name",
        autocomplete: "username",
        first: true,
        attributes: 'autocapitalize="none" spellcheck="false" maxlength="200"',
      })}
<button type="submit">Send the link</button>`,
    )}`,
  });

/** The same for every name: it must not reveal who is a user. */
export const forgotDonePage = (): Html =>
  layout({
    title: "Look into your mail",
    body: html`<p class="lead">If there is a user of this name, a letter with a link is on its way to their mail address. The link works once, within an hour.</p>
<p class="hint">Nothing came? Look among the unwanted mail, and check the spelling of the name. Users of your account who are not restricted can see your name and address.</p>`,
  });

export const newPasswordFields = (username: string, fault: string | undefined, first: boolean): Html => html`
<input type="text" name="username" autocomplete="username" value="${username}" hidden readonly>
!${field({
  name: "password",
  label: "New password",
  type: "password",
  autocomplete: "new-password",
  hint: "At least 15 characters. A few words with spaces between them are good.",
  fault,
  first,
  attributes: 'minlength="15" maxlength="1000"',
})}
!${field({
  name: "again",
  label: "The same again",
  type: "password",
  autocomplete: "new-password",
  attributes: 'maxlength="1000"',
})}`;

export const choosePasswordPage = (at: { token: string; username: string; fault?: string | undefined }): Html =>
  layout({
    title: "Choose a password",
    body: html`<p class="lead">for <strong>${at.username}</strong></p>
!${form(
      { action: "/password", token: at.token },
      html`!${newPasswordFields(at.username, at.fault, true)}
<button type="submit">Save the password</button>`,
    )}
<p class="hint">Every browser that is signed in as you is then signed out.</p>`,
  });

export const passwordChosenPage = ({ signInAt, apiUrl }: { signInAt: string; apiUrl: string | undefined }): Html =>
  layout({
    title: "Your password is saved",
    body: html`<p class="lead">Sign in with it from now on.</p>
<p><a class="button" href="${signInAt}">Sign in</a></p>
<section aria-labelledby="next"><h2 id="next">What comes next</h2>
<ul class="uses">
<li>In a terminal, this opens your browser and signs the command line in: <code class="command">moorage login --url ${apiUrl ?? "https://<the API's address>"}</code></li>
<li>For SDKs, Terraform and scripts: sign in here and create a personal token under Sign-in and security.</li>
</ul></section>`,
  });

export const deadLinkPage = (): Html =>
  layout({
    title: "This link does not work any more",
    body: html`!${alert("A link works once, and only for a while.")}
<p><a class="button" href="/forgot">Ask for a new one</a></p>`,
  });
