import { expect, test } from "vitest";
import type { Checks } from "./checks.ts";
import { canonical, checkCells, gapOf, operationIds } from "./client-cells.ts";
import { CLIENTS, gaps } from "./client-gaps.ts";
import { clientTable, committedTable } from "./client-table.ts";

const CLIENT = "linodego 1.69.1";
const expected = new Set(operationIds.filter((id) => gapOf(CLIENT, id) === undefined));

/** The names of the cells that were reported as wrong. */
function wrongCells(worked: ReadonlySet<string>): string[] {
  const wrong: string[] = [];
  const checks = { note: (name: string, passed: boolean) => passed || wrong.push(name) } as unknown as Checks;
  checkCells(CLIENT, worked, checks);
  return wrong;
}

test("cells that match the table are correct", () => {
  expect(wrongCells(expected)).toEqual([]);
});

test("an operation that stopped working is a wrong cell", () => {
  const worked = new Set(expected);
  worked.delete("viewAccount");
  expect(wrongCells(worked)).toEqual(["viewAccount is as the table says"]);
});

test("a reason for an operation that works is a wrong cell", () => {
  expect(wrongCells(new Set([...expected, "listInvoiceItems"]))).toEqual(["listInvoiceItems is as the table says"]);
});

test("reasons name existing operations, each once per client", () => {
  for (const client of CLIENTS) {
    const named = gaps[client].flatMap(({ operations }) => operations);
    expect(named.filter((id) => !operationIds.includes(id))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  }
});

test("docs/clients.md has the table of these clients and reasons", async () => {
  expect(await committedTable()).toBe(clientTable());
});

test.each([
  ["GET", "/v4beta/databases/mysql/instances/7", "/v4/databases/mysql/instances/7"],
  ["GET", "/v4/linode/instances/7/disks", "/v4/compute/instances/7/disks"],
  ["PUT", "/v4//account/oauth-clients/ab/thumbnail", "/v4/account/oauth-clients/ab/thumbnail"],
  ["POST", "/v4/account/oauth-clients/ab/reset_secret", "/v4/account/oauth-clients/ab/reset-secret"],
  ["GET", "/v4/images/private/12", "/v4/images/private%2F12"],
  ["GET", "/v4/databases/engines/mysql/9.7.4", "/v4/databases/engines/mysql%2F9.7.4"],
  ["POST", "/v4/account/payment-methods/3", "/v4/account/payment-methods/3/make-default"],
  ["GET", "/v4beta/account/payment-method/3", "/v4/account/payment-methods/3"],
  ["DELETE", "/v4/account/payment-methods/3", "/v4/account/payment-methods/3"],
])("%s %s is counted as %s", (method, path, counted) => {
  expect(canonical(method, path)).toBe(counted);
});
