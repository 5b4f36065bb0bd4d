import { listEvents, listImages } from "@moorage/contract";
import { expect, test } from "vitest";
import { filterOf } from "./filter-option.ts";

test.each([
  [["action=database_create"], { action: "database_create" }],
  [["id>=7", "read=false"], { "+and": [{ id: { "+gte": 7 } }, { read: false }] }],
  [["created>2026-01-31"], { created: { "+gt": "2026-01-31T00:00:00" } }],
  [["entity.id!=12"], { "entity.id": { "+neq": "12" } }],
  [['{"+or": [{"id": 1}, {"id": 2}]}'], { "+or": [{ id: 1 }, { id: 2 }] }],
])("--filter %s", (filter, header) => {
  expect(filterOf(listEvents, { filter })).toEqual(header);
});

test("an order works alone and with a filter", () => {
  expect(filterOf(listImages, { orderBy: "size", order: "desc" })).toEqual({
    "+and": [],
    "+order_by": "size",
    "+order": "desc",
  });
  expect(filterOf(listImages, { filter: ["label~deb"], orderBy: "size" })).toEqual({
    label: { "+contains": "deb" },
    "+order_by": "size",
  });
  expect(filterOf(listImages, {})).toBeUndefined();
});

test("an error for a field that cannot be filtered by lists those that can", () => {
  expect(() => filterOf(listImages, { filter: ["colour=red"] })).toThrow("label, deprecated, is_public");
});
