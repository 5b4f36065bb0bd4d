import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "#platform/clock.ts";
import { endCommandLineGrant, type GrantDeps } from "./command-line-grants.ts";
import { personOf } from "./names.ts";
import { decideRecord, dropRecord, findRecord, saveRecord, useRecord } from "./record-store.ts";

type Deps = GrantDeps & { clock: Clock };

const MODEL = "DeviceCode";
const isNew = ({ inFlight, accountId, error }: AdapterPayload): boolean =>
  inFlight !== true && accountId === undefined && error === undefined;

/** Device codes: the device finds one by its secret, a person by the short code that they type in. */
export const createDeviceCodes = (
  deps: Deps,
): Pick<Adapter, "upsert" | "find" | "findByUserCode" | "consume" | "destroy"> => {
  const { db, clock, sealer } = deps;
  const find = async (by: { id: string } | { uid: string }) => {
    const found = await findRecord(db, sealer, MODEL, by);
    if (found === undefined) return undefined;
    const used = found.consumedAt === null ? {} : { consumed: Math.floor(found.consumedAt.getTime() / 1000) };
    return { ...(found.payload as AdapterPayload), ...used };
  };
  return {
    async upsert(id, payload) {
      const expiresAt = new Date((payload.exp ?? 0) * 1000);
      const person = personOf(payload.accountId);
      const record = { model: MODEL, id, payload, person, expiresAt, uid: payload.userCode };
      if (isNew(payload)) return saveRecord(db, sealer, record);
      // Two people may have typed in the same code: the first who agrees decides.
      if (!(await decideRecord(db, sealer, record))) throw new errors.InvalidGrant("decided already");
    },
    find: (id) => find({ id }),
    findByUserCode: (userCode) => find({ uid: userCode }),
    async consume(id) {
      if ((await useRecord(db, MODEL, id, clock())) === "used") return;
      const { grantId } = (await find({ id })) ?? {};
      if (grantId !== undefined) await endCommandLineGrant(deps, grantId);
      throw new errors.InvalidGrant("already used");
    },
    destroy: (id) => dropRecord(db, MODEL, id),
  };
};
