import { holds } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { toString as qrCode } from "qrcode";
import { CONFIRMED_MS } from "#identity/index.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { noKey } from "#platform/http/idempotency.ts";
import type { OwnTokens } from "#profile/index.ts";
import { chooseSignedIn } from "./choose-password.ts";
import { newCredential } from "./credential.ts";
import type { SignInDeps } from "./deps.ts";
import { createDevices } from "./devices.ts";
import { formOf, PageRefusal, sendFaults, sendPage, sendTooMany } from "./http.ts";
import { isFresh } from "./is-fresh.ts";
import { signedOutPage } from "./pages/message-pages.ts";
import { scratchCodesPage, securityPage, type SecurityView, twoFactorPage } from "./pages/security-pages.ts";
import { newTokenPage, tokenCreatedPage } from "./pages/token-pages.ts";
import { type Added, addPasskey, listPasskeys, MOST_PASSKEYS, passkeyCreation, removePasskey } from "./passkeys.ts";
import { texts } from "./rules/texts.ts";
import { fields, readTokenForm } from "./rules/token-form.ts";
import { digitsOf, enrolmentOf } from "./totp.ts";
import { confirmTwoFactor, disableTwoFactor, offeredSeed, offerTwoFactor } from "./two-factor.ts";
import { countScratchCodes, findUser, type Person, type UserRow } from "./user-store.ts";

type Signed = { person: Person; uid: string; signedInAt: Date; user: UserRow };
type Messages = { done?: Text; fault?: Text; passwordFault?: Text };

const HOME = "/security";

const refusedPasskey: Record<Exclude<Added, "added">, Text> = {
  "not-proven": texts.passkeyNotVerified(),
  known: texts.passkeyAlreadyRegistered(),
  "too-many": texts.passkeyLimitReached({ most: MOST_PASSKEYS }),
};

/** The pages where people see and change how they sign in. */
export function securityRoutes(app: FastifyInstance, deps: SignInDeps): void {
  const { db, clock, interactions, formTokens } = deps;
  const devices = createDevices(deps);

  const whoIs = async (request: FastifyRequest, reply: FastifyReply): Promise<Signed | undefined> => {
    const session = await interactions.session(request, reply);
    const user = session && (await findUser(db, session.person));
    return session === undefined || user === undefined ? undefined : { ...session, user };
  };
  const tokenOf = ({ uid }: Signed): string => formTokens.make("security", uid);

  type Change = (signed: Signed, request: FastifyRequest, reply: FastifyReply, form: Form) => Promise<unknown>;
  type Form = (...names: string[]) => Record<string, string>;
  const change = (path: string, run: Change): void => {
    app.post(`${HOME}/${path}`, async (request, reply) => {
      const signed = await whoIs(request, reply);
      if (signed === undefined) return reply.redirect(interactions.signInAt(HOME), 303);
      const made = { for: "security", of: signed.uid };
      formOf(deps, request, made, []);
      if (!isFresh(signed, clock())) return reply.redirect(interactions.signInAt(HOME, { again: true }), 303);
      return run(signed, request, reply, (...names) => formOf(deps, request, made, names));
    });
  };
  const show = async (
    reply: FastifyReply,
    signed: Signed,
    { done, fault, passwordFault }: Messages = {},
  ): Promise<FastifyReply> => {
    const user = (await findUser(db, signed.person)) ?? signed.user;
    const passkeys = await listPasskeys(db, signed.person);
    const tokens = await deps.tokens.list(signed.person);
    const page = securityPage({
      token: tokenOf(signed),
      username: user.username,
      email: user.email,
      hasPassword: user.password_hash !== null,
      twoFactor: { on: user.tfa_enabled_at !== null, scratchCodesLeft: await countScratchCodes(db, signed.person) },
      passkeys: passkeys.map(({ id, label, created_at, used_at }) => ({
        id,
        label,
        created: created_at,
        used: used_at,
      })),
      tokens: tokens.map((token) => viewOfToken(token, clock())),
      done: done?.text,
      fault: fault?.text,
      passwordFault: passwordFault?.text,
    });
    const faults = [fault, passwordFault].filter((each) => each !== undefined);
    return faults.length > 0 ? sendFaults(reply, faults, page) : sendPage(reply, page);
  };

  app.get("/", async (_request, reply) => reply.redirect(HOME, 303));
  app.get(HOME, async (request, reply) => {
    const signed = await whoIs(request, reply);
    return signed === undefined ? reply.redirect(interactions.signInAt(HOME), 303) : show(reply, signed);
  });

  app.get(`${HOME}/tokens/new`, async (request, reply) => {
    const signed = await whoIs(request, reply);
    // Checked before the form is filled in, not after.
    if (signed === undefined || !isFresh(signed, clock()))
      return reply.redirect(interactions.signInAt(`${HOME}/tokens/new`, { again: signed !== undefined }), 303);
    return sendPage(reply, newTokenPage({ token: tokenOf(signed) }));
  });

  change("tokens", async (signed, _request, reply, form) => {
    const given = form(...fields);
    const read = readTokenForm(given, clock());
    if (read.newToken === undefined) {
      const page = newTokenPage({ token: tokenOf(signed), form: given, faults: read.faults });
      return sendFaults(reply, Object.values(read.faults), page);
    }
    const { row, token } = await deps.tokens.create(signed.person, read.newToken);
    return sendPage(reply, tokenCreatedPage({ label: row.label, token, apiUrl: deps.publicUrl }));
  });

  change("tokens/:id/revoke", async (signed, request, reply) => {
    await deps.tokens.revoke(signed.person, tokenIdIn(request));
    return show(reply, signed, { done: texts.tokenRevoked() });
  });

  change("tokens/:id/confirm", async (signed, request, reply) => {
    const { label } = await deps.tokens.confirm(signed.person, tokenIdIn(request));
    return show(reply, signed, { done: texts.tokenConfirmed({ label, minutes: CONFIRMED_MS / 60_000 }) });
  });

  change("password", async (signed, request, reply, form) => {
    const { password = "", again } = form("password", "again");
    const chosen =
      password === again
        ? await chooseSignedIn(deps, signed, password)
        : ({ outcome: "fault", fault: texts.passwordsDiffer() } as const);
    if (chosen.outcome === "fault") return show(reply, signed, { passwordFault: chosen.fault });
    if (chosen.outcome === "nobody") return reply.redirect(HOME, 303);
    const user = await findUser(db, signed.person);
    if (user !== undefined) await devices.remember(request, reply, user);
    return show(reply, signed, { done: texts.passwordChanged() });
  });

  change("tfa", async ({ person }, _request, reply) => {
    await offerTwoFactor(deps, person, noKey, () => ({}));
    return reply.redirect(`${HOME}/tfa`, 303);
  });

  /** The unconfirmed secret is shown only after a recent sign-in. */
  const offered = async (request: FastifyRequest, reply: FastifyReply) => {
    const signed = await whoIs(request, reply);
    const secret = signed !== undefined && isFresh(signed, clock()) ? offeredSeed(deps, signed.user) : undefined;
    return signed === undefined || secret === undefined ? undefined : { signed, secret };
  };
  app.get(`${HOME}/tfa`, async (request, reply) => {
    const offer = await offered(request, reply);
    if (offer === undefined) return reply.redirect(HOME, 303);
    return sendPage(reply, twoFactorPage({ token: tokenOf(offer.signed), secret: offer.secret }));
  });
  app.get(`${HOME}/tfa.svg`, async (request, reply) => {
    const offer = await offered(request, reply);
    if (offer === undefined) throw new PageRefusal(404, texts.pageNotFoundTitle(), texts.pageNotFound());
    const picture = await qrCode(enrolmentOf(offer.secret, offer.signed.user.username), { type: "svg", margin: 1 });
    return reply.type("image/svg+xml").header("cache-control", "no-store").send(picture);
  });

  change("tfa/confirm", async (signed, _request, reply, form) => {
    const code = digitsOf(form("code")["code"] ?? "") ?? "";
    try {
      return sendPage(reply, scratchCodesPage(await confirmTwoFactor(deps, signed.person, code, noKey, (all) => all)));
    } catch (error) {
      const secret = offeredSeed(deps, signed.user);
      if (!(error instanceof DomainError) || error.kind !== "invalid" || secret === undefined) throw error;
      const fault = texts.tfaCodeNotCurrent();
      return sendFaults(reply, [fault], twoFactorPage({ token: tokenOf(signed), secret, fault: fault.text }));
    }
  });

  change("tfa/disable", async (signed, _request, reply) => {
    await disableTwoFactor(deps, signed.person, noKey);
    return show(reply, signed, { done: texts.tfaOff() });
  });

  change("passkeys/options", async ({ user, uid }, request, reply) => {
    const seconds = await deps.throttle.take({ at: "challenge", ip: request.ip });
    return seconds > 0 ? sendTooMany(reply, seconds, HOME) : passkeyCreation(deps, user, uid);
  });

  change("passkeys", async (signed, _request, reply, form) => {
    const { credential = "", label = "" } = form("credential", "label");
    const response = newCredential(credential);
    const named = label.trim().slice(0, LONGEST_LABEL) || "Passkey";
    const added = response === undefined ? "not-proven" : await addPasskey(deps, signed, { label: named, response });
    if (added !== "added") return show(reply, signed, { fault: refusedPasskey[added] });
    return show(reply, signed, { done: texts.passkeyAdded({ label: named }) });
  });

  change("passkeys/:id/remove", async (signed, request, reply) => {
    const { id } = request.params as { id: string };
    if (/^\d{1,15}$/.test(id)) await removePasskey(deps, signed.person, Number(id));
    return show(reply, signed, { done: texts.passkeyRemoved() });
  });

  change("sign-out-everywhere", async ({ person }, _request, reply) => {
    await db.transaction().execute((tx) => deps.endSessions(tx, person));
    return sendPage(reply, signedOutPage({ everywhere: true }));
  });
}

const LONGEST_LABEL = 50;

function tokenIdIn({ params }: FastifyRequest): number {
  const { id } = params as { id: string };
  if (!/^\d{1,15}$/.test(id)) throw notFound();
  return Number(id);
}

const viewOfToken = (
  { id, label, prefix, scopes, created_at, expires_at, issued_to }: Awaited<ReturnType<OwnTokens["list"]>>[number],
  now: Date,
): SecurityView["tokens"][number] => ({
  id,
  label,
  prefix,
  scopes,
  created: created_at,
  expires: expires_at,
  isOver: expires_at !== null && expires_at <= now,
  isLogin: issued_to !== null,
  needsConfirmation: !scopes.includes("*") && holds(scopes, "account:read_write"),
});
