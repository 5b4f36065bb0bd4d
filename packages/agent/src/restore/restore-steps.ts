import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { renameDurably } from "../durable-file.ts";
import { repairAdmin } from "../mysql/baseline.ts";
import { setAdminPassword } from "../mysql/node-sql.ts";
import { recordCredentials, updateTimeline } from "../node-state.ts";
import { ensureEngine } from "../provision-steps.ts";
import { runCommand } from "../run-command.ts";
import type { StepTable } from "../run-steps.ts";
import { exists, releaseVolume } from "../volume.ts";
import { openTables } from "./check-tables.ts";
import { beginAfresh, fetchBase, type MakeContext, replayLogs } from "./make-data.ts";
import { forgetGroup } from "./forget-group.ts";
import { addPrimaryKeys } from "./add-primary-keys.ts";
import { requireTenantRights } from "./require-tenant-rights.ts";
import { stopServer } from "./throw-away-server.ts";
import { clearWorkplace } from "./workplace.ts";

/**
 * Makes the volume of a timeline while the node runs on another. The last step gives the volume its final name;
 * provisioning's `switch` step then moves the node to it.
 */
export const restoreSteps: StepTable<MakeContext> = {
  name: "restore",
  steps: [
    { name: "engine", percent: 2, run: ensureEngine },
    { name: "volume", percent: 5, run: beginAfresh },
    { name: "fetch", percent: 45, run: fetchBase },
    { name: "replay", percent: 85, run: replayLogs },
    { name: "check", percent: 90, run: check },
    // Before anybody can reach the server, so that a password from the archive never works on it.
    { name: "credentials", percent: 92, run: setTodaysPassword },
    { name: "stop", percent: 95, run: stopServerCleanly },
    { name: "keep", percent: 98, run: keepVolume },
  ],
};

async function check({ work, signal, log, spec }: MakeContext): Promise<void> {
  await forgetGroup(work.socket);
  await requireTenantRights(work.socket);
  const keys = spec.cluster === undefined ? 0 : await addPrimaryKeys(work.socket);
  const { tables } = await openTables(work.socket, signal);
  log.info({ tables, keys }, "every table of the restored data was read");
}

async function setTodaysPassword(context: MakeContext): Promise<void> {
  const { work, paths, spec, adminPassword } = context;
  await repairAdmin(work.socket, context);
  await setAdminPassword(work.socket, spec.credentials, await adminPassword(spec.node));
  await mkdir(paths.folder, { recursive: true });
  await recordCredentials(paths, spec.credentials.version);
}

async function stopServerCleanly(context: MakeContext): Promise<void> {
  await stopServer(context, context.work);
}

/** The last rename gives the volume its name. A crash before it starts the restore again; after it nothing is left. */
async function keepVolume({ work, paths, spec, podman }: MakeContext): Promise<void> {
  if (await exists(paths.image)) return;
  // The server generates a new server_uuid: the timeline is not the one that the data came from.
  await rm(join(work.data, "auto.cnf"), { force: true });
  await runCommand("sync", ["--file-system", work.volume]);
  await releaseVolume(work);
  if (spec.database.encrypted) {
    await rm(paths.keyring, { recursive: true, force: true });
    await mkdir(dirname(paths.keyring), { recursive: true, mode: 0o700 });
    await renameDurably(work.keyring, paths.keyring);
  }
  if (spec.data !== undefined) await updateTimeline(paths, { id: spec.data.timeline });
  await renameDurably(work.image, paths.image);
  await clearWorkplace(podman, work);
}
