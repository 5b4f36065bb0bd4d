import { html } from "ghtml";
import { alert, field, form, type Html, layout } from "./layout.ts";
import { texts } from "./texts.ts";

export const forgotPage = ({ token }: { token: string }): Html =>
  layout({
    title: "Forgot your password?",
    body: html`<p class="lead">${texts.forgot().text}</p>
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
    title: texts.forgotDoneTitle().text,
    body: html`<p class="lead">${texts.forgotDone().text}</p>
<p class="hint">${texts.forgotDoneHint().text}</p>`,
  });

export const newPasswordFields = (username: string, fault: string | undefined, first: boolean): Html => html`
<input type="text" name="username" autocomplete="username" value="${username}" hidden readonly>
!${field({
  name: "password",
  label: "New password",
  type: "password",
  autocomplete: "new-password",
  hint: texts.passwordHint().text,
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
<p class="hint">${texts.passwordSignsOut().text}</p>`,
  });

export const passwordChosenPage = ({ signInAt, apiUrl }: { signInAt: string; apiUrl: string | undefined }): Html =>
  layout({
    title: texts.passwordSavedTitle().text,
    body: html`<p class="lead">${texts.passwordSaved().text}</p>
<p><a class="button" href="${signInAt}">Sign in</a></p>
<section aria-labelledby="next"><h2 id="next">Next steps</h2>
<ul class="uses">
<li>${texts.nextCommandLine().text} <code class="command">moorage login --url ${apiUrl ?? "https://<the API's address>"}</code></li>
<li>${texts.nextToken().text}</li>
</ul></section>`,
  });

export const deadLinkPage = (): Html =>
  layout({
    title: texts.linkInvalidTitle().text,
    body: html`!${alert(texts.linkInvalid().text)}
<p><a class="button" href="/forgot">Request a new link</a></p>`,
  });
