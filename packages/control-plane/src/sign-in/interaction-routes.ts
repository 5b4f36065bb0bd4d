import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Interaction } from "#auth/index.ts";
import { checkCode } from "./check-code.ts";
import { checkPassword } from "./check-password.ts";
import { signedCredential } from "./credential.ts";
import type { SignInDeps } from "./deps.ts";
import { beginAgain, goHalfWay, tryFrom, whoIsHalfWay } from "./half-way.ts";
import { formOf, PageRefusal, sendPage, sendTooMany } from "./http.ts";
import { commandLineConsentPage } from "./pages/command-line-pages.ts";
import { consentPage } from "./pages/consent-page.ts";
import { codePage, signInPage } from "./pages/sign-in-pages.ts";
import { checkPasskey, passkeyRequest } from "./passkeys.ts";
import { texts } from "./texts.ts";
import { findUser, personOf } from "./user-store.ts";

const WRONG = texts.passwordWrong().text;
const WRONG_CODE = texts.codeWrong().text;
const WRONG_PASSKEY = texts.passkeyNotAccepted().text;

const expired = (): PageRefusal => new PageRefusal(400, texts.pageExpiredTitle(), texts.pageExpired());

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
  const showSignIn = (reply: FastifyReply, interaction: Interaction, view: { fault?: string; name?: string } = {}) =>
    sendPage(reply, signInPage({ ...at(interaction), ...view }));

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
    const checked = await checkPassword(deps, { name, password, ip: request.ip });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") return showSignIn(reply.status(400), interaction, { fault: WRONG, name });
    const person = personOf(checked.user);
    if (checked.user.tfa_enabled_at === null) return interactions.signedIn(request, reply, person, ["pwd"]);
    await goHalfWay(db, deps, interaction.uid, person);
    return reply.redirect(pathOf(interaction), 303);
  });

  step("code", "sign-in", async (interaction, request, reply, form) => {
    const person = await tryFrom(db, deps, interaction.uid);
    const user = person && (await findUser(db, person));
    // Expired, too many codes, or two-factor sign-in was turned off meanwhile: start again.
    if (person === undefined || user === undefined || user.tfa_enabled_at === null) {
      await beginAgain(db, deps, interaction.uid);
      return showSignIn(reply.status(400), interaction, { fault: texts.secondStepEnded().text });
    }
    const checked = await checkCode(deps, { person, code: form("code")["code"] ?? "", ip: request.ip });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") {
      const page = codePage({ ...at(interaction), username: user.username, fault: WRONG_CODE });
      return sendPage(reply.status(400), page);
    }
    await beginAgain(db, deps, interaction.uid);
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
    if (response === undefined) return showSignIn(reply.status(400), interaction, { fault: WRONG_PASSKEY });
    const checked = await checkPasskey(deps, { uid: interaction.uid, response, ip: request.ip });
    if (checked.outcome === "wait") return tooMany(reply, interaction, checked.seconds);
    if (checked.outcome === "wrong") return showSignIn(reply.status(400), interaction, { fault: WRONG_PASSKEY });
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
  const consent = { ...at, username: user.username, scopes };
  return sendPage(
    reply,
    commandLine === undefined
      ? consentPage({ ...consent, app })
      : commandLineConsentPage({ ...consent, commandLine, redirectsTo: app.redirectsTo }),
  );
}
