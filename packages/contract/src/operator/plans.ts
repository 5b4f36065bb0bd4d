import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Moment, Timestamp } from "../wire.ts";
import { Amount, Dollars, Name, whole } from "./fields.ts";

/** For a node: the hourly price, the monthly maximum, and the same while it is suspended. */
export const NewPlanPrice = z.object({
  hourly: Dollars.describe("price per hour with at most 6 decimals, such as 0.0225"),
  monthly: Dollars.describe("maximum price per month, such as 15"),
  suspended_hourly: Dollars.describe("price per hour while the database is suspended").default("0"),
  suspended_monthly: Dollars.describe("maximum price per month while the database is suspended").default("0"),
});
export type NewPlanPrice = z.output<typeof NewPlanPrice>;
export const PlanPrice = z.object({
  hourly: z.string(),
  monthly: z.string(),
  suspended_hourly: z.string(),
  suspended_monthly: z.string(),
});
export const PlanPriceVersion = PlanPrice.extend({ from: Timestamp });

const size = {
  memory_mb: Amount.describe("memory of a node, in MB"),
  disk_mb: Amount.describe("disk space of a node, in MB"),
  vcpus: z.int().positive().describe("processors of a node"),
};
export const NewPlan = z.object({
  id: Name.describe("id of the plan, such as m1-small"),
  label: Name.describe("name for display, such as 'Small 1 GB'"),
  class: Name.describe("class of the plan").default("standard"),
  ...size,
  /** If omitted, a plan keeps its price; a new one is free. */
  price: NewPlanPrice.optional(),
  deprecated: z.boolean().describe("offer the plan no longer; databases that have it keep it").default(false),
});
export const Plan = z.object({
  id: z.string(),
  label: z.string(),
  class: z.string(),
  memory_mb: z.int(),
  disk_mb: z.int(),
  vcpus: z.number(),
  deprecated: z.boolean(),
  price: PlanPrice,
});
export type Plan = z.output<typeof Plan>;

const plan = z.object({ planId: z.string() });
const common = { audience: "operator", tag: "Catalogue" } as const;

export const listPlans = defineOperation({
  ...common,
  id: "listPlans",
  summary: "List all plans, including deprecated ones",
  method: "GET",
  path: "/admin/plans",
  reply: whole(Plan),
});

export const savePlan = defineOperation({
  ...common,
  id: "savePlan",
  summary: "Create a plan",
  note: "A repetition with the same id changes everything except the size.",
  method: "POST",
  path: "/admin/plans",
  body: NewPlan,
  reply: Plan,
});

export const listPlanPrices = defineOperation({
  ...common,
  id: "listPlanPrices",
  summary: "List the former, current and future prices of a plan",
  method: "GET",
  path: "/admin/plans/:planId/prices",
  params: plan,
  reply: whole(PlanPriceVersion),
});

export const setPlanPrice = defineOperation({
  ...common,
  id: "setPlanPrice",
  summary: "Set the price of a node of a plan from a full hour on",
  note: "Earlier usage keeps its price.",
  method: "POST",
  path: "/admin/plans/:planId/prices",
  params: plan,
  body: NewPlanPrice.extend({
    from: Moment.describe("full hour in UTC, such as 2026-12-01T00:00:00 (default: the next full hour)").optional(),
  }),
  reply: PlanPriceVersion,
});
