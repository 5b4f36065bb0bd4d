import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { countHeads } from "#chains/index.ts";
import { countSealedSpecs, readInstallation, resealSpecs } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { countClaims } from "#platform/http/idempotency.ts";
import { countSealed, type KeyUse, rewrapAll } from "#platform/db/rewrap.ts";
import type { Sealer } from "#platform/seal.ts";
import type { SealedColumn } from "#platform/db/sealed-column.ts";
import { operatorRoute } from "./operator-route.ts";

/** A command repeats the call, and shows the progress in between. */
const MOST_MS = 5000;
/** The rest is found again by the next call. */
const MOST_DAMAGED = 100;

export type KeyCommandDeps = { db: Db; clock: Clock; sealer: Sealer; sealedColumns: readonly SealedColumn[] };

/** Retires keys of the key ring: encrypts what they have sealed with the current one, and says what needs them. */
export function keyCommands(app: FastifyInstance, deps: KeyCommandDeps): void {
  operatorRoute(app, contract.showKeys, () => statusOf(deps));
  operatorRoute(app, contract.rotateKeys, (_call, request) => rotate(deps, request.url));
}

/** The entry comes first: it is one for many transactions, which change no plain text. */
async function rotate(
  { db, clock, sealer, sealedColumns }: KeyCommandDeps,
  url: string,
): Promise<contract.KeyRotation> {
  const { current, former } = sealer.keys;
  const detail = { current, former };
  await db
    .transaction()
    .execute((tx) =>
      audit(tx, { at: clock(), account: null, actor: "operator", action: "rotate_keys", target: url, detail }),
    );
  const until = Date.now() + MOST_MS;
  const isOver = (): boolean => Date.now() >= until;
  const { rewrapped, damaged, isUnfinished } = await rewrapAll({ db, sealer }, sealedColumns, { isOver });
  const resent = isUnfinished ? 0 : await resealSpecs(db, current, isOver);
  if (resent > 0) await notify(db, "host");
  return { current, rewrapped, resent, damaged: damaged.slice(0, MOST_DAMAGED), unfinished: isUnfinished || isOver() };
}

async function statusOf({ db, clock, sealer, sealedColumns }: KeyCommandDeps): Promise<contract.KeyStatus> {
  const uses = [
    ...(await countSealed(db, sealedColumns)),
    ...(await countHeads(db)),
    ...(await countClaims(db, clock())),
    ...(await countSealedSpecs(db)),
  ];
  const { set_back_at, recovery_epoch } = await readInstallation(db);
  return statusBy(sealer.keys, uses, set_back_at !== null || recovery_epoch !== null);
}

/** A key can be removed if nothing needs it, nothing that is not known may need it, and no recovery may show it. */
export function statusBy(
  { current, former }: Sealer["keys"],
  uses: readonly KeyUse[],
  recovering: boolean,
): contract.KeyStatus {
  const needsOf = (id: string | null) => uses.filter(({ key }) => key === id).map(({ by, count }) => ({ by, count }));
  const unknown = needsOf(null);
  const ring = [current, ...former.toSorted((a, b) => (a < b ? -1 : 1))];
  const missing = new Set(uses.flatMap(({ key }) => (key === null || ring.includes(key) ? [] : [key])));
  const data = [...ring, ...missing].map((id) => {
    const [isCurrent, inRing, needed_by] = [id === current, ring.includes(id), needsOf(id)];
    const removable = !isCurrent && inRing && needed_by.length === 0 && unknown.length === 0 && !recovering;
    return { id, current: isCurrent, in_ring: inRing, needed_by, removable };
  });
  return { recovering, data, unknown };
}
