import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Recipe } from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";
import type { NodeContext } from "../node/node-context.ts";
import { cutLog } from "../archive/cut-log.ts";
import { ahead, BrokenArchive, readObject, type RecipeSource, StoreAway, type StoredObject } from "./fetch-object.ts";
import { openReplayClient, type ReplayClient } from "./replay-client.ts";
import { decrypt, PipeFailed, runPipe, settlePipe } from "./run-pipe.ts";
import type { Workplace } from "./workplace.ts";

type Log = Omit<Recipe["logs"][number], "url"> & StoredObject;

/**
 * Applies the logs in order on a running server. Repeatable: executed transactions are skipped by GTID. After each log
 * the server must have all GTIDs that the recipe lists for it; otherwise a log is incomplete or missing.
 */
export async function applyLogs(
  context: NodeContext,
  work: Workplace,
  source: RecipeSource,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<void> {
  const { base, logs } = await source.get();
  if (base.kind === "copy") await requireExecuted(work, base.gtid, "a part of the base copy");
  if (logs.length === 0) return;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  try {
    const client = await openReplayClient(context, work, until);
    for (const [index, log] of logs.entries()) {
      const url = async (): Promise<string> => {
        const now = (await source.get()).logs[index];
        if (now?.name !== log.name) throw new Error("The recipe has changed.");
        return now.url;
      };
      await applyLog(client, work, { ...log, url, renew: source.renew }, until);
      progress((index + 1) / logs.length);
    }
    await client.end();
  } finally {
    over.abort();
  }
}

async function applyLog(client: ReplayClient, work: Workplace, log: Log, signal: AbortSignal): Promise<void> {
  async function* bytes(): AsyncGenerator<Buffer | string, void, void> {
    yield `${log.identity}\n`;
    yield* readObject(log, signal);
  }
  const { stream, seen } = cutLog(log.before === undefined ? undefined : new Date(log.before));
  let begun = false;
  const begin = async (): Promise<void> => {
    const { previousGtids } = seen();
    if (begun || previousGtids === undefined) return;
    await requireExecuted(work, previousGtids, `a log before ${log.name}`);
    begun = true;
  };
  /** No statement of a log is executed before all of the log's previous GTIDs are. */
  async function* inOrder(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      await begin();
      yield chunk;
    }
    await begin();
  }
  const text = runPipe(decrypt, [], signal);
  const failures: unknown[] = [];
  const noted = (doing: Promise<unknown>): Promise<unknown> => doing.catch((error: unknown) => failures.push(error));
  const reading = settlePipe(text, pipeline(Readable.from(ahead(bytes())), text.stdin, { signal }));
  const read = reading.catch((error: unknown) => Promise.reject(causeOf(error, log.name)));
  const written = pipeline(text.stdout, stream, inOrder, client.input, { signal, end: false });
  // Not after a truncated log: an unterminated statement would swallow the marker query.
  await Promise.all([noted(read), noted(written.then(() => read).then(client.executed))]);
  signal.throwIfAborted();
  // Each failure breaks the pipe for the others: the first one is the cause. A client that ended early has the reason.
  const [cause] = failures;
  if (cause instanceof BrokenArchive || cause instanceof StoreAway) throw cause;
  if (cause !== undefined)
    throw await client.end().then(
      () => cause,
      (why: unknown) => why,
    );
  if (!begun) throw new BrokenArchive(`${log.name} does not begin like a binary log.`);
  const { cut, doubtful } = seen();
  if (!cut) await requireExecuted(work, log.gtid, `a part of ${log.name}`);
  if (log.before !== undefined && !cut && doubtful)
    throw new BrokenArchive(`The position at which ${log.name} reaches ${log.before} is ambiguous.`);
}

const causeOf = (error: unknown, name: string): unknown =>
  error instanceof PipeFailed && /\b(age|zstd):/.test(error.message)
    ? new BrokenArchive(`${name} cannot be read: ${error.message}`)
    : error;

async function requireExecuted({ socket }: Workplace, gtids: string, lacking: string): Promise<void> {
  const missing = await withRoot(socket, async (connection) => {
    const [rows] = await connection.query<(RowDataPacket & { missing: string })[]>(
      "SELECT GTID_SUBTRACT(?, @@GLOBAL.gtid_executed) AS missing",
      [gtids],
    );
    return rows[0]?.missing ?? "";
  });
  if (missing !== "")
    throw new BrokenArchive(`The archive lacks ${lacking}: ${missing.replaceAll("\n", "")} is missing.`);
}
