import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Interaction } from "#auth/index.ts";
import type { Db } from "#platform/db/database.ts";
import { checkCode, checkPassword } from "./check-password.ts";
import { signedCredential } from "./credential.ts";
import type { SignInDeps } from "./deps.ts";
import { createDevices } from "./devices.ts";
import { formOf, PageRefusal, sendFaults, sendPage, sendTooMany } from "./http.ts";
import { commandLineConsentPage } from "./pages/command-line-pages.ts";
import { appNotVerifiedPage, consentPage } from "./pages/consent-page.ts";
import { codePage, signInPage } from "./pages/sign-in-pages.ts";
import { checkPasskey, passkeyRequest } from "./passkeys.ts";
import { findRecord, type RecordDeps, rewriteRecord, saveRecord, takeRecord } from "./record-store.ts";
import { texts as pageTexts } from "./pages/texts.ts";
import { texts } from "./rules/texts.ts";
import { findUser, type Person, personOf } from "./user-store.ts";

type InteractionRequest = FastifyRequest<{ Params: { uid: string } }>;
type Step = (
  interaction: Interaction,
  request: InteractionRequest,
  reply: FastifyReply,
  form: (...names: string[]) => Record<string, string>,
) => Promise<unknown>;

/** The pages between an app's request and the answer to it. */
export function interactionRoutes(app: FastifyInstance, deps: SignInDeps): void {
  const { db, interactions, formTokens } = deps;
  const devices = createDevices(deps);

  const find = async (request: InteractionRequest, reply: FastifyReply): Promise<Interaction> => {
    const interaction = await interactions.find(request, reply);
    if (interaction === undefined) throw expired();
    return interaction;
  };
  const pathOf = ({ uid }: Interaction): string => `/interaction/${uid}`;
  /** A step of sign-in or consent. If the interaction is at another step, that step's page is shown. */
  const step = (path: string, prompt: Interaction["prompt"] | "any", take: Step): void => {
    app.post<{ Params: { uid: string } }>(`/interaction/:uid/${path}`, async (request, reply) => {
      const interaction = await find(request, reply);
      const made = { for: "interaction", of: interaction.uid };
      // In every step: a form that is not ours changes nothing and reveals nothing.
      formOf(deps, request, made, []);
      if (prompt !== "any" && interaction.prompt !== prompt) return reply.redirect(pathOf(interaction), 303);
      return take(interaction, request, reply, (...names) => formOf(deps, request, made, names));
    });
  };
  const at = ({ uid, app: requestingApp }: Interaction) => ({
    uid,
    token: formTokens.make("interaction", uid),
    appLabel: requestingApp?.label,
  });
  const tooMany = (reply: FastifyReply, interaction: Interaction, seconds: number) =>
    sendTooMany(reply, seconds, pathOf(interaction));
  const showSignIn = (reply: FastifyReply, interaction: Interaction, view: { name?: string } = {}) =>
    sendPage(reply, signInPage({ ...at(interaction), ...view }));
  const signInAgain = (reply: FastifyReply, interaction: Interaction, fault: Text, view: { name?: string } = {}) =>
    sendFaults(reply, [fault], signInPage({ ...at(interaction), ...view, fault: fault.text }));

  app.get<{ Params: { uid: string } }>("/interaction/:uid", async (request, reply) => {
    const interaction = await find(request, reply);
    if (interaction.prompt === "consent") return showConsent(deps, interaction, reply, at(interaction));
    const half = await whoIsHalfWay(db, deps, interaction.uid);
    // Or the person who is signed in here and has to authenticate again.
    const known = half ?? interaction.person;
    const user = known && (await findUser(db, known));
    if (half === undefined || user === undefined)
      return showSignIn(reply, interaction, user === undefined ? {} : { name: user.username });
    return sendPage(reply, codePage({ ...at(interaction), username: user.username }));
  });

  step("sign-in", "sign-in", async (interaction, request, reply, form) => {
    const { name = "", password = "" } = form("name", "password");
    const checked = await checkPassword(deps, { name, password, ip: request.ip, device: devices.read(request) });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") return signInAgain(reply, interaction, texts.passwordWrong(), { name });
    const person = personOf(checked.user);
    if (checked.user.tfa_enabled_at === null) {
      await devices.remember(request, reply, checked.user);
      return interactions.signedIn(request, reply, person, ["pwd"]);
    }
    await goHalfWay(db, deps, interaction.uid, person);
    return reply.redirect(pathOf(interaction), 303);
  });

  step("code", "sign-in", async (interaction, request, reply, form) => {
    const person = await tryFrom(db, deps, interaction.uid);
    const user = person && (await findUser(db, person));
    // Expired, too many codes, or two-factor sign-in was turned off meanwhile: start again.
    if (person === undefined || user === undefined || user.tfa_enabled_at === null) {
      await beginAgain(db, deps, interaction.uid);
      return signInAgain(reply, interaction, texts.secondStepEnded());
    }
    const checked = await checkCode(deps, {
      person,
      code: form("code")["code"] ?? "",
      ip: request.ip,
      device: devices.read(request),
    });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") {
      const fault = texts.codeWrong();
      const page = codePage({ ...at(interaction), username: user.username, fault: fault.text });
      return sendFaults(reply, [fault], page);
    }
    await beginAgain(db, deps, interaction.uid);
    await devices.remember(request, reply, user);
    return interactions.signedIn(request, reply, person, ["pwd", "otp"]);
  });

  step("begin-again", "sign-in", async (interaction, _request, reply) => {
    await beginAgain(db, deps, interaction.uid);
    return reply.redirect(pathOf(interaction), 303);
  });

  step("passkey/options", "sign-in", async (interaction, request, reply) => {
    const seconds = await deps.throttle.take({ at: "challenge", ip: request.ip });
    return seconds > 0 ? tooMany(reply, interaction, seconds) : passkeyRequest(deps, interaction.uid);
  });

  step("passkey", "sign-in", async (interaction, request, reply, form) => {
    const response = signedCredential(form("credential")["credential"] ?? "");
    if (response === undefined) return signInAgain(reply, interaction, texts.passkeyNotAccepted());
    const checked = await checkPasskey(deps, { uid: interaction.uid, response, ip: request.ip });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") return signInAgain(reply, interaction, texts.passkeyNotAccepted());
    await devices.remember(request, reply, checked.user);
    return interactions.signedIn(request, reply, personOf(checked.user), ["hwk"]);
  });

  step("consent", "consent", (_interaction, request, reply) => interactions.consented(request, reply));
  step("refuse", "any", (_interaction, request, reply) => interactions.refused(request, reply));
}

async function showConsent(
  { db }: SignInDeps,
  { app, commandLine, person, scopes }: Interaction,
  reply: FastifyReply,
  at: { uid: string; token: string },
): Promise<FastifyReply> {
  const user = person && (await findUser(db, person));
  if (app === undefined || user === undefined) throw expired();
  if (!app.verified && app.accountId !== user.account_id)
    return sendFaults(reply, [pageTexts.appNotVerified(app)], appNotVerifiedPage({ ...at, app }));
  const consent = { ...at, username: user.username, scopes };
  return sendPage(
    reply,
    commandLine === undefined
      ? consentPage({ ...consent, app })
      : commandLineConsentPage({ ...consent, commandLine, redirectsTo: app.redirectsTo }),
  );
}

const expired = (): PageRefusal => new PageRefusal(400, texts.pageExpiredTitle(), texts.pageExpired());

/**
 * The state between password and second factor. It belongs to one interaction and so to one browser, and allows a few
 * attempts: then the password is required again.
 */
const MINUTES = 10;
const MOST_TRIES = 5;
const recordOf = (uid: string) => ({ model: "SignIn", key: uid }) as const;

const goHalfWay = (db: Db, deps: RecordDeps, uid: string, person: Person): Promise<void> =>
  saveRecord(db, deps, { ...recordOf(uid), person, minutes: MINUTES, payload: { tries: 0 } });

const whoIsHalfWay = async (db: Db, deps: RecordDeps, uid: string): Promise<Person | undefined> =>
  (await findRecord(db, deps, recordOf(uid)))?.person;

/** Counts an attempt before it is checked, so that concurrent ones cannot exceed the limit. Undefined: start again. */
const tryFrom = (db: Db, deps: RecordDeps, uid: string): Promise<Person | undefined> =>
  db.transaction().execute(async (tx) => {
    const found = await findRecord(tx, deps, recordOf(uid), "for update");
    if (found?.person === undefined) return undefined;
    const tries = found.payload.tries + 1;
    if (tries > MOST_TRIES) {
      await takeRecord(tx, deps, recordOf(uid));
      return undefined;
    }
    await rewriteRecord(tx, deps, { ...recordOf(uid), payload: { tries } });
    return found.person;
  });

async function beginAgain(db: Db, deps: RecordDeps, uid: string): Promise<void> {
  await takeRecord(db, deps, recordOf(uid));
}
