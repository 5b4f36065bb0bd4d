import { operations } from "@moorage/contract";
import { expect, test } from "vitest";
import { commandNames } from "./command-name.ts";

const names = new Map([...commandNames(operations)].map(([{ id }, { words }]) => [id, words.join(" ")]));

test("every operation has its own command, and no command is also a group", () => {
  const lines = [...names.values()];
  expect(new Set(lines).size).toBe(operations.length);
  expect(lines.filter((line) => lines.some((other) => other.startsWith(`${line} `)))).toEqual([]);
});

test.each([
  ["createMysqlDatabase", "db create"],
  ["listDatabaseEngines", "db engine list"],
  ["restoreMysqlBackup", "db backup restore"],
  ["resetMysqlCredentials", "db credentials reset"],
  ["listEvents", "event list"],
  ["markEventsSeen", "event seen"],
  ["viewAccountSettings", "account settings show"],
  ["createPersonalToken", "me token create"],
  ["downloadInvoicePdf", "invoice pdf download"],
  ["updateOAuthClientThumbnail", "oauth-client thumbnail upload"],
  ["listAccountLogins", "user login list"],
])("%s is moorage %s", (id, line) => {
  expect(names.get(id)).toBe(line);
});
