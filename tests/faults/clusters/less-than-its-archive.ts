import { setTimeout as sleep } from "node:timers/promises";
import { toTimestamp } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { type Cluster, type Member, othersThan } from "../../kit/cluster.ts";
import { bothWays, cut } from "../../kit/cluster-cuts.ts";
import { hostNumbers } from "../../kit/host.ts";
import { query } from "../../kit/records.ts";
import { powerCut } from "../host-restarted.ts";
import { callDead } from "./call-dead.ts";
import { insert } from "./cluster-fixture.ts";

/**
 * Two hosts are permanently dead, and the remaining node lacks two writes that the archive has, 'lost' and 'lost too'.
 * `between`: a time between them.
 */
export async function lessThanItsArchive(cluster: Cluster): Promise<{ gone: Member[]; between: string }> {
  const left = await neitherPrimaryNorArchiver(cluster);
  const gone = othersThan(left, cluster.members);
  const { heal } = await cut(
    gone.flatMap(({ host }) => bothWays(left.host, host)),
    hostNumbers(),
  );
  const atPrimary = { host: cluster.primary.address, tls: ["--ssl-mode=REQUIRED"] };
  const write = (note: string) =>
    until(`${note} is written`, 60, () =>
      runStatement(clientA(), cluster.door, `${insert(note)}; select 1`, atPrimary),
    );
  await write("lost");
  const wrote = Date.now();
  await sleep(2 * 1000); // restore times are whole seconds
  await write("lost too");
  await until("both are in the archive", 180, async () => {
    const logs = await query(
      `select from binary_logs join databases using (timeline_id)
       where databases.id = $1 and closed_at >= $2`,
      [cluster.id, new Date(wrote + 1500)],
    );
    return logs.length > 0;
  });
  for (const { host } of gone) await powerCut(host);
  await heal();
  await callDead(gone.map(({ host }) => host));
  return { gone, between: toTimestamp(new Date(wrote + 1000)) };
}

async function neitherPrimaryNorArchiver({ id, primary, members }: Cluster): Promise<Member> {
  const [archiver] = await query<{ node_id: string }>(
    "select node_id from archivers join databases using (timeline_id) where databases.id = $1",
    [id],
  );
  return members.find(({ node }) => node !== primary.node && node !== archiver?.node_id) as Member;
}
