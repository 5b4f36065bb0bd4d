import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("compute", {
  maintenanceStatus: text<[{ id: number; status: string; allowed: readonly string[]; to: string }]>(
    ({ id, status, allowed, to }) =>
      `Maintenance ${id} is ${status}; only ${allowed.join(" or ")} maintenance can be ${to}.`,
    { id: 7, status: "completed", allowed: ["pending", "started"], to: "canceled" },
  ),
});
