import { areas } from "@moorage/contract";
import { expect, test } from "vitest";
import { commandLineConsentPage, deviceSignedInPage, userCodePage } from "./command-line-pages.ts";
import { appNotVerifiedPage, consentPage, inWords } from "./consent-page.ts";
import { sentence } from "./layout.ts";
import { errorPage, signedOutPage, signOutPage, tooManyPage } from "./message-pages.ts";
import { choosePasswordPage, deadLinkPage, forgotDonePage, forgotPage, passwordChosenPage } from "./password-pages.ts";
import { scratchCodesPage, securityPage, twoFactorPage } from "./security-pages.ts";
import { codePage, signInPage } from "./sign-in-pages.ts";
import { texts } from "./texts.ts";
import { newTokenPage, tokenCreatedPage } from "./token-pages.ts";

const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&'`;
const hostileText = { code: "sign_in.hostile", text: hostile };
const day = new Date("2026-10-01T00:00:00Z");
const at = { uid: hostile, token: hostile, appLabel: hostile, fault: hostile };

const commandLineConsents = () =>
  Object.fromEntries(
    [undefined, { userCode: hostile, address: hostile }].map((device) => [
      device === undefined ? "loopback" : "device",
      commandLineConsentPage({
        ...at,
        username: hostile,
        scopes: ["*"],
        redirectsTo: "http://127.0.0.1:9000/callback",
        commandLine: { machine: hostile, label: hostile, days: 90, device },
      }),
    ]),
  );

const pages = {
  signIn: signInPage({ ...at, name: hostile }),
  code: codePage({ ...at, username: hostile }),
  consent: consentPage({
    ...at,
    app: {
      label: hostile,
      owner: hostile,
      thumbnailUrl: hostile,
      redirectsTo: `https://app.example/${hostile}`,
      verified: true,
    },
    username: hostile,
    scopes: [hostile, "databases:read_only"],
  }),
  consentToAll: consentPage({
    ...at,
    app: { label: hostile, owner: hostile, thumbnailUrl: null, redirectsTo: "com.example.app:/back", verified: false },
    username: hostile,
    scopes: ["*"],
  }),
  appNotVerified: appNotVerifiedPage({ ...at, app: { label: hostile, owner: hostile } }),
  forgot: forgotPage({ token: hostile }),
  forgotDone: forgotDonePage(),
  choosePassword: choosePasswordPage({ ...at, username: hostile }),
  passwordChosen: passwordChosenPage({ signInAt: `/oauth/authorize?x=${hostile}`, apiUrl: hostile }),
  deadLink: deadLinkPage(),
  security: securityPage({
    token: hostile,
    username: hostile,
    email: hostile,
    hasPassword: true,
    twoFactor: { on: true, scratchCodesLeft: 8 },
    passkeys: [{ id: 1, label: hostile, created: day, used: null }],
    tokens: [
      {
        id: 2,
        label: hostile,
        prefix: hostile,
        scopes: [hostile],
        created: day,
        expires: day,
        isOver: false,
        isLogin: true,
        needsConfirmation: true,
      },
    ],
    done: hostile,
    fault: hostile,
    passwordFault: hostile,
  }),
  twoFactor: twoFactorPage({ token: hostile, secret: hostile, fault: hostile }),
  scratchCodes: scratchCodesPage([hostile]),
  newToken: newTokenPage({
    token: hostile,
    form: { label: hostile },
    faults: { label: hostileText, what: hostileText },
  }),
  tokenCreated: tokenCreatedPage({ label: hostile, token: hostile, apiUrl: hostile }),
  userCode: userCodePage({ action: hostile, fields: { [hostile]: hostile }, fault: hostile }),
  deviceSignedIn: deviceSignedInPage(),
  ...commandLineConsents(),
  error: errorPage({ title: hostile, text: hostile }),
  tooMany: tooManyPage(61, hostile),
  signOut: signOutPage({ action: "/logout", fields: { [hostile]: hostile } }),
  signedOut: signedOutPage(),
};

test.each(Object.entries(pages))("%s shows what others wrote as text", (_name, page) => {
  expect(page).not.toContain("<script>");
  expect(page).not.toContain("<img src=x");
  expect(page).not.toMatch(/<[^>]*\sonerror=/);
});

test("an argument of a sentence is shown as text, whatever it contains", () => {
  expect(sentence(texts.loginRequested, { username: "`a` {username} <b>" })).toBe(
    "<code>moorage login</code> requests to be signed in as <strong>`a` {username} &#60;b&#62;</strong>.",
  );
});

test.each(Object.entries(pages))("%s has one first-level heading, a language, and nothing inline", (_name, page) => {
  expect(page.match(/<h1>/g)).toHaveLength(1);
  expect(page).toContain('<html lang="en">');
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|javascript:/i);
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const labelled = [...page.matchAll(/<label for="([^"]*)"/g)].map(([, id]) => id);
  for (const id of labelled) expect(ids).toContain(id);
});

test("every scope has a description, which distinguishes viewing from changing", () => {
  for (const area of Object.keys(areas)) {
    expect(inWords(`${area}:read_only`)).toMatch(/^View your/);
    expect(inWords(`${area}:read_write`)).toMatch(/^View and change your/);
  }
  expect(pages.consentToAll).toContain("everything in your account");
});

test.each([
  ["https://app.example/back", "app.example"],
  ["http://127.0.0.1:9000/back", "a program on this computer"],
  ["com.example.app:/back", "com.example.app:"],
])("a person sees the target of %s", (redirectsTo, expected) => {
  const page = consentPage({
    uid: "u",
    token: "t",
    username: "baker",
    scopes: ["databases:read_only"],
    app: { label: "App", owner: "Example Ltd.", thumbnailUrl: null, redirectsTo, verified: false },
  });
  expect(page).toContain(expected);
});

test.each([
  [1, "a second"],
  [59, "59 seconds"],
  [60, "a minute"],
  [61, "2 minutes"],
])("after %i seconds one may try again: %s", (seconds, expected) => {
  expect(tooManyPage(seconds, "/forgot")).toContain(`in ${expected}.`);
});
