import type { FastifyReply, FastifyRequest } from "fastify";
import { errors, type Interaction as Kept, type Provider } from "oidc-provider";
import { DomainError } from "#platform/errors.ts";
import type { AdapterDeps } from "./adapter.ts";
import { type Consent, openAppGrant } from "./app-grant-store.ts";
import { hasThumbnail, nameOfOwner, ownOf } from "./client-metadata.ts";
import { openCommandLineGrant } from "./command-line-grants.ts";
import { COMMAND_LINE, labelOf, machineOf } from "./command-line.ts";
import type { CommandLineLogin, Interaction, Interactions, Person } from "./interactions.ts";
import { nameOfAppGrant, nameOfPerson, personOf } from "./names.ts";
import { lifetimes, OWN_PAGES, paths, SIGNED_IN } from "./provider.ts";
import { ofApi } from "./scopes.ts";
import { allowFormTarget, type PageSettings } from "./server.ts";
import { oauthTexts, texts } from "./texts.ts";

export type InteractionDeps = AdapterDeps & {
  provider: Provider;
  settings: PageSettings;
  /** The public address of the API, which serves apps' thumbnails. */
  publicUrl: string | undefined;
};

type PromptKind = Interaction["prompt"];
const promptOf = ({ prompt }: Kept): PromptKind => (prompt.name === "login" ? "sign-in" : "consent");
const ended = (): DomainError => new DomainError("wrong-state", { reason: texts.ended() });
const paramOf = ({ params }: Kept, name: string): string => {
  const value = params[name];
  return typeof value === "string" ? value : "";
};
const scopesOf = (kept: Kept): string[] => ofApi(paramOf(kept, "scope").split(" "));

export function createInteractions(deps: InteractionDeps): Interactions {
  const { provider, settings } = deps;

  const find = async (request: FastifyRequest, reply: FastifyReply): Promise<Kept | undefined> => {
    try {
      const kept = await provider.interactionDetails(request.raw, reply.raw);
      return kept.uid === (request.params as { uid?: string }).uid ? kept : undefined;
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  };
  const need = async (request: FastifyRequest, reply: FastifyReply, prompt: PromptKind): Promise<Kept> => {
    const kept = await find(request, reply);
    if (kept === undefined || promptOf(kept) !== prompt) throw ended();
    return kept;
  };
  const finish = async (...[request, reply, result, options]: Finish): Promise<void> => {
    const onwards = await provider.interactionResult(request.raw, reply.raw, result, options);
    await reply.redirect(onwards, 303);
  };

  return {
    async find(request, reply) {
      const kept = await find(request, reply);
      if (kept === undefined) return undefined;
      const redirectUri = paramOf(kept, "redirect_uri");
      if (redirectUri !== "") allowFormTarget(reply, settings, redirectUri);
      return {
        uid: kept.uid,
        prompt: promptOf(kept),
        app: await appOf(deps, kept),
        commandLine: await commandLineOf(provider, kept),
        scopes: scopesOf(kept),
        person: personOf(kept.session?.accountId),
      };
    },

    async signedIn(request, reply, person, proofs) {
      const kept = await need(request, reply, "sign-in");
      await endSessionOfAnother(provider, kept, person);
      const amr = proofs.length > 1 ? [...proofs, "mfa"] : [...proofs];
      await finish(request, reply, { login: { accountId: nameOfPerson(person), amr } });
    },

    async consented(request, reply) {
      const kept = await need(request, reply, "consent");
      const person = personOf(kept.session?.accountId);
      const { epoch } = kept.prompt.details as { epoch?: number };
      if (person === undefined || epoch === undefined) throw ended();
      const consent = { person, epoch, clientId: paramOf(kept, "client_id"), scopes: scopesOf(kept) };
      await finish(request, reply, { consent: { grantId: await openGrant(deps, consent, kept) } });
    },

    async refused(request, reply) {
      if ((await find(request, reply)) === undefined) throw ended();
      const result = { error: "access_denied", error_description: oauthTexts.accessDenied().text };
      await finish(request, reply, result, { mergeWithLastSubmission: false });
    },

    async session(request, reply) {
      const session = await provider.Session.get(provider.createContext(request.raw, reply.raw));
      const person = personOf(session.accountId);
      if (person === undefined) return undefined;
      return { person, uid: session.uid, signedInAt: new Date((session.loginTs ?? 0) * 1000) };
    },

    signInAt(path, { again = false } = {}) {
      const query = new URLSearchParams({
        client_id: OWN_PAGES,
        response_type: "none",
        scope: "openid",
        redirect_uri: `${provider.issuer}${SIGNED_IN}`,
        state: path,
        ...(again && { prompt: "login" }),
      });
      return `${paths.authorize}?${query.toString()}`;
    },
  };
}

type Finish = [
  request: FastifyRequest,
  reply: FastifyReply,
  result: Parameters<Provider["interactionResult"]>[2],
  options?: { mergeWithLastSubmission: boolean },
];

/** Returns the grant's name. It lasts until the code is exchanged. */
async function openGrant(deps: InteractionDeps, consent: Consent, kept: Kept): Promise<string> {
  const { person, clientId, scopes } = consent;
  const now = deps.clock();
  const until = new Date(now.getTime() + lifetimes.code * 1000);
  if (clientId === COMMAND_LINE)
    return openCommandLineGrant(deps, {
      person,
      scopes: [...scopes],
      machine: machineOf(paramOf(kept, "device_name")),
      createdAt: now.toISOString(),
      expiresAt: until.toISOString(),
    });
  const grant = await openAppGrant(deps.db, consent, now, until);
  if (grant === undefined) throw ended();
  return nameOfAppGrant(grant);
}

async function commandLineOf(provider: Provider, kept: Kept): Promise<CommandLineLogin | undefined> {
  if (paramOf(kept, "client_id") !== COMMAND_LINE) return undefined;
  const machine = machineOf(paramOf(kept, "device_name"));
  const code = kept.deviceCode === undefined ? undefined : await provider.DeviceCode.find(kept.deviceCode);
  const { address } = (code?.deviceInfo ?? {}) as { address?: string };
  const shown = /^(.{4})(.{4})$/.exec(code?.userCode ?? "");
  return {
    machine,
    label: labelOf(machine),
    days: lifetimes.commandLineToken / (24 * 60 * 60),
    device: code && { userCode: shown === null ? "" : `${shown[1]}-${shown[2]}`, address: address ?? "" },
  };
}

async function appOf({ db, provider, publicUrl }: InteractionDeps, kept: Kept): Promise<Interaction["app"]> {
  const id = paramOf(kept, "client_id");
  if (id === OWN_PAGES) return undefined;
  const client = await provider.Client.find(id);
  if (client === undefined) throw ended();
  const thumbnail = `${publicUrl ?? ""}/v4/account/oauth-clients/${id}/thumbnail`;
  return {
    id,
    label: client.clientName ?? "",
    thumbnailUrl: publicUrl !== undefined && (await hasThumbnail(db, id)) ? thumbnail : null,
    redirectsTo: paramOf(kept, "redirect_uri"),
    accountId: ownOf(client).account_id,
    owner: await nameOfOwner(db, client),
    verified: ownOf(client).verified,
  };
}

/** Signing in as another person ends the former person's session and inherits nothing from it. */
async function endSessionOfAnother(provider: Provider, kept: Kept, person: Person): Promise<void> {
  const { session } = kept;
  if (session === undefined || session.accountId === nameOfPerson(person)) return;
  await (await provider.Session.findByUid(session.uid))?.destroy();
  delete kept.session;
  await kept.persist();
}
