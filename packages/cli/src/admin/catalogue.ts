import * as contract from "@moorage/contract/operator";
import { Command, Option } from "commander";
import { texts } from "../catalogue/texts.ts";
import { Refused } from "../refused.ts";
import { texts as shared } from "../texts.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

/** The regions, plans and versions that tenants can choose from. */
export const catalogueCommands: readonly AdminCommand[] = [
  define({
    words: "region create",
    operation: contract.saveRegion,
    arguments: ["id"],
    print: ({ id }) => texts.regionSaved({ id }),
  }),
  define({
    words: "region list",
    operation: contract.listRegions,
    list: ["id", "label", "country", "outage"],
    empty: shared.noRegions(),
  }),
  define({
    words: "plan create",
    operation: contract.savePlan,
    arguments: ["id"],
    required: ["price.hourly", "price.monthly"],
    print: ({ id, price }) => texts.planSaved({ id, ...price }),
  }),
  define({
    words: "plan list",
    operation: contract.listPlans,
    list: (plan) => ({
      id: plan.id,
      label: plan.label,
      class: plan.class,
      "memory MB": plan.memory_mb,
      "disk MB": plan.disk_mb,
      vcpus: plan.vcpus,
      hourly: plan.price.hourly,
      monthly: plan.price.monthly,
      deprecated: plan.deprecated,
    }),
    empty: shared.noPlans(),
  }),
  define({
    words: "plan price",
    operation: contract.setPlanPrice,
    print: (price, { planId: id = "" }) => texts.priceSaved({ id, ...price }),
  }),
  define({
    words: "plan prices",
    operation: contract.listPlanPrices,
    list: ({ from, hourly, monthly, suspended_hourly, suspended_monthly }) => ({
      from,
      hourly,
      monthly,
      "suspended hourly": suspended_hourly,
      "suspended monthly": suspended_monthly,
    }),
    empty: ({ planId: id = "" }) => texts.noPrices({ id }),
  }),
  define({
    words: "engine create",
    operation: contract.saveEngine,
    arguments: ["id"],
    print: ({ id }) => texts.engineVersionSaved({ id }),
  }),
  define({
    words: "engine image",
    operation: contract.setEngineImage,
    arguments: ["image"],
    print: ({ id, databases }) => texts.engineImageSaved({ id, databases }),
  }),
  define({
    words: "engine list",
    operation: contract.listEngines,
    list: ["id", "image", "prepared"],
    empty: shared.noEngineVersions(),
  }),
];

/** One operation starts and ends an outage; two options are harder to mix up. */
export const outageCommand = ({ client, output }: AdminDeps): Command =>
  new Command("outage")
    .description(contract.setOutage.summary)
    .argument("<region>")
    .addOption(new Option("--message <text>", "start an outage, or change its notification").conflicts("over"))
    .option("--over", "end the outage")
    .action(async (id: string, { message = null, over }: { message?: string | null; over?: true }) => {
      if (message === null && over !== true) throw new Refused(texts.outageActionMissing());
      const saved = await client().call(contract.setOutage, { params: { regionId: id }, body: { message } });
      output.printResult(saved, message === null ? texts.regionUp({ id }) : texts.regionDown({ id, message }));
    });
