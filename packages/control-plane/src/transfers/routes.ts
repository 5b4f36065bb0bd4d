import {
  acceptServiceTransfer,
  cancelServiceTransfer,
  createServiceTransfer,
  listServiceTransfers,
  viewServiceTransfer,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { type AcceptDeps, acceptTransfer, cancelTransfer } from "./accept-transfer.ts";
import { createTransfer } from "./create-transfer.ts";
import { findTransfer, listTransferPage } from "./transfer-store.ts";
import { maySee, viewOfTransfer } from "./transfer.ts";

export type TransferRouteDeps = RouteDeps & AcceptDeps;

export function transferRoutes(app: FastifyInstance, deps: TransferRouteDeps): void {
  const { db, clock, sealer } = deps;

  route(app, deps, listServiceTransfers, async ({ principal: { accountId: reader }, page, filter }) => {
    const now = clock();
    const { rows, results } = await listTransferPage(db, reader, page, filter, now);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfTransfer(row, { sealer, reader, now })),
    );
  });

  route(app, deps, createServiceTransfer, async ({ principal, body, idempotency }) =>
    createTransfer(deps, principal, body, idempotency),
  );

  route(app, deps, viewServiceTransfer, async ({ principal: { accountId: reader }, params }) => {
    const now = clock();
    const transfer = await findTransfer(db, params.token);
    if (transfer === undefined || !maySee(transfer, reader, now)) throw notFound();
    return viewOfTransfer(transfer, { sealer, reader, now });
  });

  route(app, deps, cancelServiceTransfer, async ({ principal, params }) => {
    await cancelTransfer(deps, principal, params.token);
    return {};
  });

  route(app, deps, acceptServiceTransfer, async ({ principal, params, idempotency }) => {
    await acceptTransfer(deps, principal, params.token, idempotency);
    return {};
  });
}
