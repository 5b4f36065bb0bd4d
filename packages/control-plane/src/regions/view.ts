import type { ComputeType, Region } from "@moorage/contract";
import { DOLLAR } from "#platform/money.ts";
import { type PricedPlan, type Region as RegionRow, takesDatabases } from "./catalogue.ts";

export const viewOfRegion = (row: RegionRow): Region => ({
  id: row.id,
  label: row.label,
  country: row.country.toLowerCase(),
  // Clients show these in their forms.
  capabilities: [...(takesDatabases(row) ? ["Managed Databases"] : []), "Machine Images"],
  status: row.outage === null ? "ok" : "outage",
  resolvers: { ipv4: "", ipv6: "" },
});

export const priceOf = (plan: Pick<PricedPlan, "hourly_micros" | "monthly_micros">) => ({
  hourly: plan.hourly_micros / DOLLAR,
  monthly: plan.monthly_micros / DOLLAR,
});

/** Moorage runs no virtual machines, but clients read this list before anything else. */
export const viewOfComputeType = (plan: PricedPlan): ComputeType => ({
  id: plan.id,
  label: plan.label,
  class: plan.class,
  disk: plan.disk_mb,
  memory: plan.memory_mb,
  vcpus: plan.vcpus,
  gpus: 0,
  transfer: 0,
  network_out: 0,
  price: priceOf(plan),
  region_prices: [],
  addons: { backups: { price: { hourly: 0, monthly: 0 }, region_prices: [] } },
  successor: null,
});
