/** What docs/tenants/importing-your-data.md promises about a dump, between databases of one and of three nodes. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { enginesDir } from "../../tools/stack/paths.ts";
import { runStatement, type Door, doorOf, inside, clientA } from "../kit/client.ts";
import { makeCluster } from "../kit/cluster.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const run = promisify(execFile);
const alice = tenant();
const a = clientA();

/**
 * One of everything that mysqldump writes, by three definers: the admin, an application, and one that is dropped later.
 */
const SHOP = `
create database shop;
use shop;
create user app@'%' identified by 'an app''s password 1';
create user clerk@'%' identified by 'a clerk''s password 1';
grant all on shop.* to app@'%', clerk@'%';
create table items (id int auto_increment primary key, name varchar(100), price decimal(8,2), data json, at timestamp(6) default now(6), picture blob);
create table log (id bigint auto_increment primary key, what varchar(200));
create table plain (word varchar(20));
delimiter //
create trigger items_log after insert on items for each row begin insert into log (what) values (concat('new ', new.name)); end//
create definer=app@'%' trigger items_price before update on items for each row begin if new.price < 0 then set new.price = 0; end if; end//
create definer=app@'%' function with_tax(price decimal(8,2)) returns decimal(8,2) deterministic return round(price * 1.19, 2)//
create definer=clerk@'%' procedure sell(in item int) begin update items set price = price - 1 where id = item; select with_tax(price) from items where id = item; end//
create definer=clerk@'%' event tidy on schedule every 1 day starts '2030-01-01 00:00:00' do delete from log where id < 0//
delimiter ;
create definer=app@'%' sql security definer view dear as select id, name, with_tax(price) as gross from items where price > 50;
create view counts as select count(*) as n from log;
insert into items (name, price, data, picture) with recursive n as (select 1 as i union all select i + 1 from n where i < 500)
  select concat('item ', i, ' ü€😀'), i / 4, json_object('n', i), unhex(sha2(i, 256)) from n;
insert into plain values ('one'), ('two'), (null);
drop user clerk@'%';
`;

const client = (program: string, door: Door, ...more: string[]): string => {
  const rootfs = join(enginesDir, "mysql", "rootfs");
  const words = [
    join(rootfs, "usr/lib64/ld-linux-x86-64.so.2"),
    "--library-path",
    join(rootfs, "usr/lib/x86_64-linux-gnu"),
    join(rootfs, "usr/bin", program),
    "--no-defaults",
    `--character-sets-dir=${join(rootfs, "usr/share/mysql/charsets")}`,
    "-h",
    door.name,
    "-P",
    String(door.port),
    "-u",
    door.username,
    "--ssl-mode=VERIFY_IDENTITY",
    `--ssl-ca=${door.ca}`,
    ...more,
  ];
  return words.map((word) => `'${word}'`).join(" ");
};

const shell = (door: Door, line: string, input?: string): Promise<string> => {
  const child = run("ip", inside(a, "bash", "-euo", "pipefail", "-c", line), {
    env: { ...process.env, MYSQL_PWD: door.password },
    maxBuffer: 64 * 1024 * 1024,
    timeout: 900_000,
  });
  child.child.stdin?.end(input ?? "");
  return child.then(({ stdout }) => stdout);
};

/** Everything that a copy must have in common with its original. */
async function contentOf(door: Door): Promise<Record<string, string>> {
  const questions = {
    checksums: "checksum table shop.items, shop.log, shop.plain",
    columns:
      "select table_name, column_name, column_type, is_nullable, extra from information_schema.columns where table_schema = 'shop' order by 1, ordinal_position",
    triggers:
      "select trigger_name, definer, action_statement from information_schema.triggers where trigger_schema = 'shop' order by 1",
    routines:
      "select routine_name, routine_type, definer, routine_definition from information_schema.routines where routine_schema = 'shop' order by 1",
    events:
      "select event_name, definer, event_definition, status from information_schema.events where event_schema = 'shop' order by 1",
    views:
      "select table_name, definer, security_type, view_definition from information_schema.views where table_schema = 'shop' order by 1",
    answers: "select count(*), sum(gross) from shop.dear; select n from shop.counts; select shop.with_tax(100)",
  };
  const answers = Object.entries(questions).map(async ([name, text]) => [name, await runStatement(a, door, text)]);
  return Object.fromEntries(await Promise.all(answers)) as Record<string, string>;
}

const ids: number[] = [];
let folder: string;
let original: Door;
let content: Record<string, string>;

beforeAll(async () => {
  await allowDeletions(100);
  folder = await mkdtemp(join(tmpdir(), "moorage-dump-"));
  original = await oneNode();
  await shell(original, client("mysql", original), SHOP);
  content = await contentOf(original);
  const options = ["--single-transaction", "--set-gtid-purged=OFF", "--routines", "--events", "--triggers"];
  await shell(original, `${client("mysqldump", original, ...options, "--databases", "shop")} >'${folder}/shop.sql'`);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  for (const id of ids) await alice.deleteSurely(id);
});

async function oneNode(): Promise<Door> {
  const { id } = await alice.createSurely(unique("dump"), 60, { allow_list: [a.address] });
  ids.push(id);
  await alice.untilStatus(id, "active", 180);
  return doorOf(alice, id);
}
async function threeNodes(): Promise<Door> {
  const { id, door } = await makeCluster(alice, unique("dump"), { allow_list: [a.address] });
  ids.push(id);
  return door;
}

test("the original has one of everything", () => {
  expect(content["triggers"]?.split("\n")).toHaveLength(2);
  expect(content["routines"]?.split("\n")).toHaveLength(2);
  expect(content["events"]).toContain("tidy");
  expect(content["answers"]).toContain("119.00");
});

test.each([
  ["one node", oneNode],
  ["three nodes", threeNodes],
] as const)(
  "a dump with triggers, functions, events, views and definers loads into %s, with equal checksums",
  async (_, make) => {
    const copy = await make();
    await runStatement(
      a,
      copy,
      "create user app@'%' identified by 'an app''s password 1'; grant all on shop.* to app@'%'",
    );
    await shell(copy, `${client("mysql", copy)} <'${folder}/shop.sql'`);
    expect(await contentOf(copy)).toEqual(content);
  },
);
