import { expect, test } from "vitest";
import { onlyAdds } from "./only-adds.ts";

test.each([
  [
    "a table, a sequence and its index",
    "create sequence a_seq;\ncreate table a (id int);\ncreate index a_by_id on a (id);",
  ],
  ["a comment with other words", "-- alter table b: not here\ncreate table a (id int); -- drop table b;"],
  ["a column that may be empty", "alter table b add column c int, add column d numeric(10, 2);"],
  ["a column with a default", "alter table b add column c int not null default 0;"],
])("%s: existing tables are unaffected", (_, text) => expect(onlyAdds(text)).toBe(true));

test.each([
  ["a column that must be named", "create table a (id int); alter table b add column c int not null;"],
  ["a column with a rule", "alter table b add column c int, add column d int check (d > 0);"],
  ["a column that refers to others", "alter table b add column c int references a;"],
  ["a column that goes", "alter table b add column c int, drop column d;"],
  ["an index of an older table", "create table a (id int); create unique index b_by_c on b (c);"],
  ["rows", "create table a (id int); insert into b values (1);"],
  ["a trigger", "create table a (id int); create trigger t after insert on b execute function f();"],
])("%s: an existing table is affected", (_, text) => expect(onlyAdds(text)).toBe(false));
