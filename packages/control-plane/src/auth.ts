import type { FastifyInstance } from "fastify";
import { type AuthorizationServerDeps, createAuthorizationServer, endSessions } from "#auth/index.ts";
import { createLetters } from "#mail/index.ts";
import type { Log } from "#platform/log.ts";
import {
  createFormTokens,
  createPasswords,
  errorPage,
  type Passwords,
  signedOutPage,
  signInPages,
  signOutPage,
  type Throttle,
} from "#sign-in/index.ts";
import type { Serving } from "./api.ts";

type Given = Omit<AuthorizationServerDeps, "pages"> & { throttle: Throttle; passwords?: Passwords };

/** Where people sign in, and apps get their tokens. */
export async function createAuthServer(log: Log, given: Given, serving: Serving): Promise<FastifyInstance> {
  const pages = { error: errorPage, signOut: signOutPage, signedOut: () => signedOutPage() };
  const { app, interactions } = await createAuthorizationServer(log, { ...given, pages }, serving);
  const { db, clock, sealer, throttle, authUrl } = given;
  signInPages(app, {
    ...{ db, clock, sealer, throttle, authUrl, interactions, endSessions },
    letters: createLetters(given),
    passwords: given.passwords ?? createPasswords(),
    formTokens: createFormTokens(given.keyRing),
  });
  return app;
}
