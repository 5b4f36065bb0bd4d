import { until } from "@moorage/testkit/until.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { type Cluster, desiredPrimaryOf, othersThan, untilHealthy } from "../../kit/cluster.ts";
import { slowDown } from "../../kit/cluster-cuts.ts";
import { killed } from "../../kit/cluster-faults.ts";
import { query } from "../../kit/records.ts";
import { powerCut, powerOn } from "../host-restarted.ts";
import { act, type Flow, finished, idOf, owning, type Fixture } from "../flow.ts";
import { aCluster, stillHealthy, withARow } from "./cluster-fixture.ts";

const withAnAsynchRow = (fixture: Fixture): Promise<void> => withARow(fixture, { replication_type: "asynch" });

/** The former primary is no longer the primary, and no write is lost. */
async function requireNewPrimary(fixture: Fixture, before: Cluster): Promise<void> {
  const { primary } = await stillHealthy(fixture);
  if (primary.node === before.primary.node) throw new Error("the primary is the same as before");
}

/** Flows that only asynchronous clusters have. */
export const asynchFlows = {
  createOfAsynch: {
    prepare: async () => {},
    run: async (fixture) => void (await aCluster(fixture, { replication_type: "asynch" })),
    owns: owning("provision", "group"),
  },
  switchoverOfAsynch: {
    prepare: withAnAsynchRow,
    run: async (fixture) => {
      const before = await untilHealthy(fixture.alice, idOf(fixture), 60);
      await finished(fixture, idOf(fixture), "database_switchover", act(fixture, "switchover"));
      await requireNewPrimary(fixture, before);
    },
    owns: owning("group"),
  },
  /** A former primary with errant transactions: they are saved before the node is re-cloned. */
  asynchPrimaryLost: {
    prepare: withAnAsynchRow,
    run: async (fixture) => {
      const before = await untilHealthy(fixture.alice, idOf(fixture), 60);
      const { door, members, primary, id } = before;
      await runStatement(clientA(), door, "create table shop.lost (id int auto_increment primary key, page text)");
      {
        await using _ = await slowDown(primary, othersThan(primary, members));
        const lost = "insert into shop.lost (page) values (repeat('x', 60000))";
        await runStatement(clientA(), door, lost, { host: primary.address, tls: ["--ssl-mode=REQUIRED"] });
        await killed.strike(primary);
        await until(
          "another is the primary",
          120,
          async () =>
            (await desiredPrimaryOf(id)) !== primary.node &&
            (await runStatement(clientA(), door, "select 1", { seconds: 60 })) === "1",
        );
      }
      await until("its errant transactions are saved", 120, async () => {
        return (await query("select 1 from lost_transactions where database_id = $1", [id])).length > 0;
      });
      await requireNewPrimary(fixture, before);
    },
    owns: owning("provision", "group", "tombstone"),
  },
  /** Forced by the tenant while the primary is unreachable and may be alive. */
  promotion: {
    prepare: withAnAsynchRow,
    run: async (fixture) => {
      const before = await untilHealthy(fixture.alice, idOf(fixture), 60);
      const { host } = before.primary;
      await powerCut(host);
      try {
        await until("the primary is unreachable, and another is promoted", 180, async () => {
          const { status } = await fixture.alice.act(idOf(fixture), "promote", { accept_loss: true });
          return status === 200 || (await desiredPrimaryOf(idOf(fixture))) !== before.primary.node;
        });
        await until("it takes writes", 60, async () => {
          await runStatement(clientA(), before.door, "create table if not exists shop.others (id int primary key)");
          return true;
        });
      } finally {
        await powerOn(host);
      }
      await requireNewPrimary(fixture, before);
    },
    owns: owning("provision", "group"),
  },
} satisfies Record<string, Flow>;
