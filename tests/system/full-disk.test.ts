import { until } from "@moorage/testkit/until.ts";
import { beforeAll, expect, test } from "vitest";
import { du } from "../kit/host.ts";
import { allowDeletions, moorage } from "../kit/moorage.ts";
import { nodesOf } from "../kit/records.ts";
import { reach, sql } from "../kit/sql.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();
const SMALL = "t1-tiny";

beforeAll(async () => {
  await allowDeletions(100);
  const size = ["--memory-mb", "512", "--disk-mb", "1024", "--vcpus", "1", "--hourly", "0.01", "--monthly", "5"];
  await moorage("plan", "create", SMALL, "--label", "Tiny", ...size);
});

/** Five megabytes that do not compress, in rows of 64 KiB. */
const SOME_ROWS = `insert into shop.pages (page) with recursive n (i) as (select 1 union all select i + 1 from n where i < 80)
  select repeat(sha2(concat(i, rand()), 512), 512) from n`;

test("a full volume is reported, read-only before it is full, and writable after a resize", async () => {
  const { id } = await alice.createSurely(unique("full"), 60, { type: SMALL });
  await alice.untilStatus(id, "active", 120);
  const at = await reach(alice, id);
  await sql(at, "create database shop; create table shop.pages (id int auto_increment primary key, page mediumtext)");

  // While binary logs can be archived and purged the volume becomes writable again after a moment: full is when that
  // ends.
  let [acknowledged, refusedSince] = [0, 0];
  const refusal = await until("the database takes no more writes for 20 s", 400, async () => {
    try {
      await sql(at, SOME_ROWS);
      acknowledged += 80;
      refusedSince = 0;
      return false;
    } catch (error) {
      refusedSince ||= Date.now();
      return Date.now() - refusedSince > 20_000 && String(error);
    }
  });

  expect(refusal).toMatch(/super-read-only|read-only/i);
  expect(Number(await sql(at, "select count(*) from shop.pages"))).toBe(acknowledged);
  const warnings = () =>
    alice.events(id).then((events) => events.filter(({ action }) => action === "database_low_disk_space"));
  await until("the events report it", 60, async () => (await warnings()).length >= 1);
  await until("there is a critical notification", 60, async () =>
    (await alice.notifications()).some(({ entity, severity }) => entity?.id === id && severity === "critical"),
  );
  const full = (await alice.view(id)).body;
  expect(full).toMatchObject({ status: "active", total_disk_size_gb: 1, used_disk_size_gb: 1 });
  const [node] = await nodesOf(id);
  expect(Math.abs(full.used_disk_size_gb - (await du(at.host, node?.id ?? "")))).toBeLessThanOrEqual(1);

  expect((await alice.update(id, { type: "m1-small" })).status).toBe(200);
  await alice.untilEvent(id, "database_resize", 120);
  await until("it takes writes again", 60, () =>
    sql(at, SOME_ROWS).then(
      () => true,
      () => false,
    ),
  );
  expect(Number(await sql(at, "select count(*) from shop.pages"))).toBe(acknowledged + 80);
  await until("the notification is gone", 60, async () =>
    (await alice.notifications()).every(({ entity }) => entity?.id !== id),
  );
  expect((await warnings()).some(({ status }) => status === "finished")).toBe(true);

  await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_delete");
});
