import type { FastifyInstance } from "fastify";
import { type AuthorizationServerDeps, createAuthorizationServer } from "#auth/authorization-server.ts";
import { endSessions } from "#auth/index.ts";
import { createNotices } from "#mail/index.ts";
import type { Log } from "#platform/log.ts";
import { createLoginTokens, createOwnTokens } from "#profile/index.ts";
import {
  createFormTokens,
  createPasswords,
  deviceSignedInPage,
  errorPage,
  type Passwords,
  signedOutPage,
  signInPages,
  signOutPage,
  type Throttle,
  userCodePage,
} from "#sign-in/index.ts";
import type { Serving } from "./api.ts";

type Made = "pages" | "loginTokens" | "deviceLimits";
type Given = Omit<AuthorizationServerDeps, Made> & { throttle: Throttle; passwords?: Passwords };

/** The authorization server: people sign in here, and apps get their tokens. */
export async function createAuthServer(log: Log, given: Given, serving: Serving): Promise<FastifyInstance> {
  const { db, clock, sealer, throttle, authUrl, publicUrl } = given;
  const pages = {
    error: errorPage,
    signOut: signOutPage,
    signedOut: () => signedOutPage(),
    userCode: userCodePage,
    deviceSignedIn: deviceSignedInPage,
  };
  const made = { pages, loginTokens: createLoginTokens(given), deviceLimits: deviceLimitsOf(throttle) };
  const { app, interactions } = await createAuthorizationServer(log, { ...given, ...made }, serving);
  signInPages(app, {
    db,
    clock,
    sealer,
    throttle,
    authUrl,
    publicUrl,
    interactions,
    endSessions,
    tokens: createOwnTokens(given),
    mails: createNotices(given),
    passwords: given.passwords ?? createPasswords(),
    formTokens: createFormTokens(given.keyRing),
  });
  return app;
}

/** Applies the rate limits of passwords and codes to polling devices and typed codes. */
const deviceLimitsOf = (throttle: Throttle): AuthorizationServerDeps["deviceLimits"] => ({
  start: (ip) => throttle.take({ at: "device", ip }),
  typeCode: (ip) => throttle.take({ at: "userCode", ip }),
  poll: (ip, deviceCode) => throttle.take({ at: "devicePoll", who: deviceCode, ip }),
});
