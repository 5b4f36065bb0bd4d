import { type Command, Option } from "commander";
import { Refused } from "./admin-client.ts";
import { positiveNumber, segment, wholeNumber } from "./arguments.ts";
import { texts } from "./catalogue/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";
import { priceCommands, priceIn } from "./price-commands.ts";
import { texts as shared } from "./texts.ts";

type Region = { id: string; label: string; country: string; outage?: string | null };
type Plan = {
  id: string;
  label: string;
  class: string;
  memory_mb: number;
  disk_mb: number;
  vcpus: number;
  price: { hourly: string; monthly: string };
  deprecated: boolean;
};
type EngineVersion = { id: string; image: string; prepared: string };

/** The regions, plans and versions that tenants can choose from. */
export function catalogueCommands(program: Command, output: Output): void {
  regionCommands(program, output);
  planCommands(program, output);
  engineCommands(program, output);
}

function regionCommands(program: Command, output: Output): void {
  const region = program.command("region").description("Manage regions, the locations of hosts");
  region
    .command("create <id>")
    .description("Create a region. Repeating the command with the same id changes label and country.")
    .requiredOption("--label <name>", "name for display, such as Frankfurt")
    .requiredOption("--country <code>", "two-letter country code, such as de")
    .action(async (id: string, options: { label: string; country: string }) => {
      const saved = await adminClient().post<Region>("/admin/regions", { id, ...options });
      output.printResult(saved, texts.regionSaved({ id }));
    });
  region
    .command("outage <id>")
    .description("Notify the accounts that use a region of the start or the end of an outage")
    .addOption(new Option("--message <text>", "start an outage, or change its notification").conflicts("over"))
    .option("--over", "end the outage")
    .action(async (id: string, { message = null, over }: { message?: string | null; over?: true }) => {
      if (message === null && over !== true) throw new Refused(texts.outageActionMissing());
      const saved = await adminClient().post<Region>(`/admin/regions/${segment(id)}/outage`, { message });
      output.printResult(saved, message === null ? texts.regionUp({ id }) : texts.regionDown({ id, message }));
    });
  region
    .command("list")
    .description("List all regions")
    .action(async () => {
      const regions = await adminClient().all<Region>("/admin/regions");
      const row = ({ id, label, country, outage = null }: Region) => ({ id, label, country, outage });
      output.list(regions, row, shared.noRegions());
    });
}

type PlanOptions = {
  label: string;
  class: string;
  memoryMb: number;
  diskMb: number;
  vcpus: number;
  hourly: string;
  monthly: string;
  suspendedHourly?: string;
  suspendedMonthly?: string;
  deprecated?: true;
};

function planCommands(program: Command, output: Output): void {
  const plan = program.command("plan").description("Manage plans, the sizes and prices of database nodes");
  plan
    .command("create <id>")
    .description("Create a plan. Repeating the command with the same id changes everything except the size.")
    .requiredOption("--label <name>", "name for display, such as 'Small 1 GB'")
    .option("--class <name>", "class of the plan", "standard")
    .requiredOption("--memory-mb <n>", "memory of a node, in MB", wholeNumber)
    .requiredOption("--disk-mb <n>", "disk space of a node, in MB", wholeNumber)
    .requiredOption("--vcpus <n>", "processors of a node; may be a fraction", positiveNumber)
    .requiredOption("--hourly <dollars>", "price per hour with at most 6 decimals, such as 0.0225")
    .requiredOption("--monthly <dollars>", "maximum price per month, such as 15")
    .option("--suspended-hourly <dollars>", "price per hour while the database is suspended (default: 0)")
    .option("--suspended-monthly <dollars>", "maximum price per month while the database is suspended")
    .option("--deprecated", "offer the plan no longer; databases that have it keep it")
    .action(async (id: string, { memoryMb, diskMb, ...options }: PlanOptions) => {
      const { label, class: kind, vcpus, deprecated } = options;
      const saved = await adminClient().post<Plan>("/admin/plans", {
        id,
        label,
        class: kind,
        memory_mb: memoryMb,
        disk_mb: diskMb,
        vcpus,
        deprecated,
        price: priceIn(options),
      });
      output.printResult(saved, texts.planSaved({ id, ...saved.price }));
    });
  plan
    .command("list")
    .description("List all plans, including deprecated ones")
    .action(async () => {
      const plans = await adminClient().all<Plan>("/admin/plans");
      output.list(plans, planRow, shared.noPlans());
    });
  priceCommands(plan, output);
}

const planRow = (plan: Plan) => ({
  id: plan.id,
  label: plan.label,
  class: plan.class,
  "memory MB": plan.memory_mb,
  "disk MB": plan.disk_mb,
  vcpus: plan.vcpus,
  hourly: plan.price.hourly,
  monthly: plan.price.monthly,
  deprecated: plan.deprecated,
});

function engineCommands(program: Command, output: Output): void {
  const engine = program.command("engine").description("Manage the MySQL versions that tenants can choose");
  engine
    .command("create <id>")
    .description("Offer a version, such as mysql/9.7.4. Repeating the command with the same id changes its images.")
    .requiredOption("--image <sha256>", "SHA-256 of the container image that hosts run")
    .requiredOption("--prepared <sha256>", "SHA-256 of the prepared data directory that new nodes start from")
    .action(async (id: string, options: { image: string; prepared: string }) => {
      const saved = await adminClient().post<EngineVersion>("/admin/engines", { id, ...options });
      output.printResult(saved, texts.engineVersionSaved({ id }));
    });
  engine
    .command("image <id> <sha256>")
    .description("Assign a new image to a version. Its databases take the image in their maintenance windows.")
    .action(async (id: string, image: string) => {
      const path = `/admin/engines/${id.split("/").map(segment).join("/")}/image`;
      const saved = await adminClient().post<{ databases: number }>(path, { image });
      output.printResult(saved, texts.engineImageSaved({ id, databases: saved.databases }));
    });
  engine
    .command("list")
    .description("List all versions with the SHA-256 of their images and data directories")
    .action(async () => {
      const versions = await adminClient().all<EngineVersion>("/admin/engines");
      const row = ({ id, image, prepared }: EngineVersion) => ({ id, image, prepared });
      output.list(versions, row, shared.noEngineVersions());
    });
}
