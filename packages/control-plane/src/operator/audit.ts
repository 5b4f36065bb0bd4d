import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { type ChainFault, readAnchors, verifyPage } from "#chains/index.ts";
import type { Db } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { operatorRoute } from "./operator-route.ts";

/** Whether somebody changed the audit or the money records past the control plane. */
export function auditCommands(app: FastifyInstance, deps: { db: Db; sealer: Sealer }): void {
  operatorRoute(app, contract.verifyAudit, async ({ query: { cursor, anchor } }) => {
    const anchors = anchor === undefined ? new Map() : readAnchors(anchor);
    const { from, to, faults, anchor: newest, next, ...counts } = await verifyPage(deps, { cursor, anchors });
    const [first] = faults;
    return {
      ...counts,
      from: from === undefined ? null : toTimestamp(from),
      to: to === undefined ? null : toTimestamp(to),
      faults: faults.length,
      first: first === undefined ? null : viewOf(first),
      anchor: newest ?? null,
      next: next ?? null,
    };
  });
}

const viewOf = ({ fault, row, link }: ChainFault): contract.ChainFault => ({
  fault,
  row: row === undefined ? null : row.join("/"),
  link: link === undefined ? null : { position: link.position, linked: toTimestamp(link.linkedAt) },
});
