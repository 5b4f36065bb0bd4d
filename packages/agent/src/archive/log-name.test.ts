import { expect, test } from "vitest";
import { logNameOf } from "./log-name.ts";

test.each(["binlog.000001", "binlog.999999", "binlog.2147483647"])("%s is the name of a binary log", (name) => {
  expect(logNameOf(name)).toBe(name);
});

test.each([
  "../../../../etc/cron.d/binlog.000001",
  "binlog.000001/../../x",
  "binlog.000001\n",
  "--result-file=/scratch/binlog.000001",
  "binlog.1",
  "relay.000001",
  "",
  undefined,
  null,
  7,
])("a server cannot make the host use %j as the name of a binary log", (name) => {
  expect(() => logNameOf(name)).toThrow("The server reports a binary log with the name");
});
