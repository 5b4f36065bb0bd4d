import { ask, placeA } from "../../kit/client.ts";
import { type Cluster, leaderOf, othersThan, untilHealthy } from "../../kit/cluster.ts";
import { slowDown } from "../../kit/cluster-cuts.ts";
import { killed } from "../../kit/cluster-faults.ts";
import { query } from "../../kit/records.ts";
import { until } from "../../kit/until.ts";
import { powerCut, powerOn } from "../outages.ts";
import { act, type Flow, finished, idOf, owning, type Stage } from "../flow.ts";
import { aCluster, stillWhole, withARow } from "./three-stage.ts";

const withAnAsynchRow = (stage: Stage): Promise<void> => withARow(stage, { replication_type: "asynch" });

/** The one that led before does not any more, and nothing is lost that was to stay. */
async function ledByAnother(stage: Stage, before: Cluster): Promise<void> {
  const { primary } = await stillWhole(stage);
  if (primary.node === before.primary.node) throw new Error("the leader is the one from before");
}

/** What only a database of three does that replicates asynchronously. */
export const asynchFlows = {
  createOfAsynch: {
    prepare: async () => {},
    run: async (stage) => void (await aCluster(stage, { replication_type: "asynch" })),
    owns: owning("provision", "group"),
  },
  switchoverOfAsynch: {
    prepare: withAnAsynchRow,
    run: async (stage) => {
      const before = await untilHealthy(stage.alice, idOf(stage), 60);
      await finished(stage, idOf(stage), "database_switchover", act(stage, "switchover"));
      await ledByAnother(stage, before);
    },
    owns: owning("group"),
  },
  /** With transactions that nobody else has: they are saved before its data are made anew. */
  leaderLost: {
    prepare: withAnAsynchRow,
    run: async (stage) => {
      const before = await untilHealthy(stage.alice, idOf(stage), 60);
      const { door, members, primary, id } = before;
      await ask(placeA(), door, "create table shop.lost (id int auto_increment primary key, page text)");
      {
        await using _ = await slowDown(primary, othersThan(primary, members));
        const lost = "insert into shop.lost (page) values (repeat('x', 60000))";
        await ask(placeA(), door, lost, { host: primary.address, tls: ["--ssl-mode=REQUIRED"] });
        await killed.strike(primary);
        await until(
          "another leads",
          120,
          async () =>
            (await leaderOf(id)) !== primary.node && (await ask(placeA(), door, "select 1", { seconds: 5 })) === "1",
        );
      }
      await until("what it alone had is saved", 120, async () => {
        return (await query("select 1 from tails where database_id = $1", [id])).length > 0;
      });
      await ledByAnother(stage, before);
    },
    owns: owning("provision", "group", "tombstone"),
  },
  /** By the tenant's word, while nobody knows whether the one that led is alive. */
  promotion: {
    prepare: withAnAsynchRow,
    run: async (stage) => {
      const before = await untilHealthy(stage.alice, idOf(stage), 60);
      const { host } = before.primary;
      await powerCut(host);
      try {
        await until("the leader is not heard, and another takes its place", 180, async () => {
          const { status } = await stage.alice.act(idOf(stage), "promote", { accept_loss: true });
          return status === 200 || (await leaderOf(idOf(stage))) !== before.primary.node;
        });
        await until("it takes writes", 60, async () => {
          await ask(placeA(), before.door, "create table if not exists shop.others (id int primary key)");
          return true;
        });
      } finally {
        await powerOn(host);
      }
      await ledByAnother(stage, before);
    },
    owns: owning("provision", "group"),
  },
} satisfies Record<string, Flow>;
