import { randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { dropOlderRecords } from "#auth/index.ts";
import type { SignInDeps } from "./deps.ts";
import { findRecord, saveRecord, takeRecord } from "./record-store.ts";
import { secretCookie } from "./secret-cookie.ts";
import { lockUser, personOf, type UserRow } from "./user-store.ts";

const DAYS = 180;
const MOST_DEVICES = 20;
const model = "Device";

type DeviceDeps = Pick<SignInDeps, "db" | "clock" | "sealer" | "authUrl">;

/**
 * Browsers in which a user has signed in completely: their attempts have a budget of their own, so that attempts from
 * elsewhere cannot lock the user out there. A device replaces neither the password nor the second factor. Its record ends
 * with the user's sessions: with a new password, and when the user signs out everywhere.
 */
export function createDevices(deps: DeviceDeps) {
  const { db, clock } = deps;
  const cookie = secretCookie(deps.authUrl, { name: "moorage-device", seconds: DAYS * 86_400, sameSite: "Strict" });
  return {
    read: cookie.read,
    /** After a complete sign-in. A device gets a new secret each time, so that a stolen one ends. */
    async remember(request: FastifyRequest, reply: FastifyReply, user: UserRow): Promise<void> {
      const person = personOf(user);
      const secret = randomBytes(32).toString("hex");
      const former = cookie.read(request);
      const isKept = await db.transaction().execute(async (tx) => {
        // A new password during the sign-in has ended all devices.
        if ((await lockUser(tx, person))?.password_hash !== user.password_hash) return false;
        if (former !== undefined) await takeRecord(tx, deps, { model, key: former });
        await saveRecord(tx, deps, { model, key: secret, person, minutes: DAYS * 24 * 60, payload: {} });
        await dropOlderRecords(tx, { model, person, kept: MOST_DEVICES, now: clock() });
        return true;
      });
      if (isKept) reply.header("set-cookie", cookie.set(secret));
    },
  };
}
export type Devices = ReturnType<typeof createDevices>;

/** Whether the user has signed in with this device. */
export async function isDeviceOf(
  deps: Pick<SignInDeps, "db" | "clock" | "sealer">,
  secret: string | undefined,
  user: UserRow | undefined,
): Promise<boolean> {
  if (secret === undefined) return false;
  const person = (await findRecord(deps.db, deps, { model, key: secret }))?.person;
  return user !== undefined && person?.accountId === user.account_id && person.userId === user.id;
}
