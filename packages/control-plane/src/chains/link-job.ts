import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import type { Sealer } from "#platform/seal.ts";
import { type Anchor, anchorOf } from "./anchor.ts";
import { type Chain, chainNames, codeOf, isProven, linkAll } from "./chain.ts";
import { findHeads, findLink, lockChains, newestLink, saveHead, saveLinks, takePending } from "./chain-store.ts";

type Deps = { db: Db; clock: Clock; log: Pick<Log, "error" | "info">; sealer: Sealer };

const BATCH = 1000;
/** The rest waits for the next round, so that other jobs can run. */
const MOST_BATCHES = 20;
const ANCHOR_EVERY_MS = 10 * 60_000;

/**
 * Links the rows that were written since the last round. One worker does it at a time; those who write the rows do not
 * wait for it. Logs the newest links, for somebody who compares them later: at most every ten minutes.
 */
export function createLinkJob(deps: Deps): () => Promise<void> {
  const { db, clock, log } = deps;
  const seen = new Map<Chain, Anchor>();
  const logged = { anchor: "", at: Number.NEGATIVE_INFINITY };
  return async () => {
    await warnOfSetBack(deps, seen);
    for (let done = 0; done < MOST_BATCHES; done++) {
      const linked = await db.transaction().execute((tx) => linkBatch(tx, deps));
      if (linked < BATCH) break;
    }
    const heads = await findHeads(db);
    for (const [chain, head] of heads) seen.set(chain, head);
    // In the order in which a verification prints them.
    const anchors = chainNames.flatMap((chain) => {
      const head = heads.get(chain);
      return head === undefined ? [] : [anchorOf(chain, head)];
    });
    const anchor = anchors.join(" ");
    const now = clock().getTime();
    if (anchor === logged.anchor || now - logged.at < ANCHOR_EVERY_MS) return;
    Object.assign(logged, { anchor, at: now });
    log.info({ code: "chains.anchor", anchor }, "the newest links of the audit and of the money records");
  };
}

async function linkBatch(tx: Tx, { clock, log, sealer }: Deps): Promise<number> {
  if (!(await lockChains(tx))) return 0;
  const taken = await takePending(tx, BATCH);
  const heads = await findHeads(tx);
  for (const chain of chainNames) {
    const head = heads.get(chain);
    const entries = taken.filter((entry) => entry.chain === chain);
    // After a change of the current key a head is signed again, so that the earlier one can be removed.
    const isCurrent = head === undefined || head.code === codeOf(sealer, chain, head);
    if (entries.length === 0 && isCurrent) continue;
    const newest = await newestLink(tx, chain);
    const proven = isProven(sealer, chain, head, newest);
    if (entries.length > 0) {
      // Nothing is appended to what somebody else may have made: the break stays visible.
      if (!proven) log.error({ code: "chains.unproven", chain }, "the newest link of a chain is not proven; verify it");
      const after = { position: newest?.position ?? 0, hash: proven ? newest?.hash : undefined };
      const made = linkAll(chain, entries, after, clock());
      await saveLinks(tx, chain, made);
      await signHead(tx, sealer, chain, made.at(-1));
    } else if (proven) await signHead(tx, sealer, chain, head);
  }
  return taken.length;
}

async function signHead(tx: Tx, sealer: Sealer, chain: Chain, link: Anchor | undefined): Promise<void> {
  if (link === undefined) return;
  const { position, hash } = link;
  await saveHead(tx, chain, { position, hash, code: codeOf(sealer, chain, { position, hash }) });
}

/** This process has seen these links. PostgreSQL was set back, or somebody removed or replaced them. */
async function warnOfSetBack({ db, log }: Deps, seen: Map<Chain, Anchor>): Promise<void> {
  for (const [chain, { position, hash }] of seen) {
    const now = await findLink(db, chain, position);
    if (now?.hash.equals(hash) === true) continue;
    seen.delete(chain);
    const anchor = anchorOf(chain, { position, hash });
    log.error({ code: "chains.set_back", chain, anchor }, "a chain does not have a link that this process has seen");
  }
}
