// Only passkeys need a script on these pages. Without it, their buttons stay hidden.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const known = (credentials = []) => credentials.map((each) => ({ ...each, id: bytes(each.id) }));

async function create(options) {
  const made = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: known(options.excludeCredentials),
    },
  });
  return {
    clientDataJSON: text(made.response.clientDataJSON),
    attestationObject: text(made.response.attestationObject),
    transports: made.response.getTransports?.() ?? [],
    credential: made,
  };
}

async function get(options) {
  const got = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: known(options.allowCredentials),
    },
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = got.response;
  return {
    clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    ...(userHandle ? { userHandle: text(userHandle) } : {}),
    credential: got,
  };
}

/** Fetches a challenge, gets the authenticator's answer, and submits the form with it. */
async function answer(form) {
  const asked = await fetch(form.dataset.options, {
    method: "POST",
    body: new URLSearchParams({ form_token: form.elements.form_token.value }),
  });
  // A redirect, usually to sign in again, comes first.
  if (asked.redirected) return location.assign(asked.url);
  if (!asked.ok) throw new Error(asked.status === 429 ? "tooMany" : "no challenge");
  const { credential, ...response } = await (form.dataset.passkey === "create" ? create : get)(await asked.json());
  form.elements.credential.value = JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    clientExtensionResults: {},
    response,
  });
  form.submit();
}

if (window.PublicKeyCredential !== undefined)
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const status = form.querySelector("[role=status]");
    // The sentences are in texts.ts.
    const messages = JSON.parse(form.dataset.messages);
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      status.textContent = "";
      answer(form).catch((error) => {
        status.textContent = messages[error.message] ?? messages[error.name] ?? messages.failed;
      });
    });
  }
