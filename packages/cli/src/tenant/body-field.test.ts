import { createMysqlDatabase, operations } from "@moorage/contract";
import { expect, test } from "vitest";
import { fieldsOf, flagOf, optionOf } from "./body-field.ts";

test("the body of every operation can be given by options", () => {
  const bodies = operations.flatMap(({ body }) => body ?? []);
  expect(() => bodies.flatMap((body) => fieldsOf(body).map(optionOf))).not.toThrow();
});

test("a field that has a name for other clients too is one option, by our name", () => {
  const flags = fieldsOf(createMysqlDatabase.body).map(({ path }) => flagOf(path));
  expect(flags.filter((flag) => flag.startsWith("--fork"))).toEqual(["--fork.source", "--fork.restore-time"]);
});
