import { createMysqlDatabase, operations } from "@moorage/contract";
import { expect, test } from "vitest";
import { fieldsOf, flagOf, optionOf } from "./body-field.ts";

test("the body of every operation can be given as options", () => {
  const bodies = operations.flatMap(({ body }) => body ?? []);
  expect(() => bodies.flatMap((body) => fieldsOf(body).map(optionOf))).not.toThrow();
});

test("a field with an alias for other clients is one option, with our name", () => {
  const flags = fieldsOf(createMysqlDatabase.body).map(({ path }) => flagOf(path));
  expect(flags.filter((flag) => flag.startsWith("--fork"))).toEqual(["--fork.source", "--fork.restore-time"]);
});
