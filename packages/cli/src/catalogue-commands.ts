import { type Command, Option } from "commander";
import { Refused } from "./admin-client.ts";
import { positiveNumber, segment, wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";
import { priceCommands, priceIn } from "./price-commands.ts";

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
  const region = program.command("region").description("where hosts stand");
  region
    .command("create <id>")
    .description("make a region; said again, it changes label and country")
    .requiredOption("--label <name>", "for people, such as Frankfurt")
    .requiredOption("--country <code>", "two letters, such as de")
    .action(async (id: string, options: { label: string; country: string }) => {
      const saved = await adminClient().post<Region>("/admin/regions", { id, ...options });
      output.printResult(saved, `Region ${id}. Next, its hosts: moorage host add --help`);
    });
  region
    .command("outage <id>")
    .description("tell everybody who has something in a region that it is down, or that this is over")
    .addOption(new Option("--message <text>", "what tenants are told; said again, it changes").conflicts("over"))
    .option("--over", "it is up again")
    .action(async (id: string, { message = null, over }: { message?: string | null; over?: true }) => {
      if (message === null && over !== true) throw new Refused("Give --message <text>, or --over.");
      const saved = await adminClient().post<Region>(`/admin/regions/${segment(id)}/outage`, { message });
      output.printResult(saved, message === null ? `Region ${id} is up.` : `Region ${id} is down: ${message}`);
    });
  region
    .command("list")
    .description("every region")
    .action(async () => {
      const regions = await adminClient().all<Region>("/admin/regions");
      const row = ({ id, label, country, outage = null }: Region) => ({ id, label, country, outage });
      output.list(regions, row, "No region yet. Make one with: moorage region create --help");
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
  const plan = program.command("plan").description("sizes of a database node, and what they cost");
  plan
    .command("create <id>")
    .description("make a plan; said again, it changes all but the size: another price holds from the next full hour")
    .requiredOption("--label <name>", "for people, such as 'Small 1 GB'")
    .option("--class <name>", "plans of a kind", "standard")
    .requiredOption("--memory-mb <n>", "memory of a node", wholeNumber)
    .requiredOption("--disk-mb <n>", "disk of a node", wholeNumber)
    .requiredOption("--vcpus <n>", "processors of a node; may be a fraction", positiveNumber)
    .requiredOption("--hourly <dollars>", "price of an hour, to the micro-dollar, such as 0.0225")
    .requiredOption("--monthly <dollars>", "the most that a month costs, such as 15")
    .option("--suspended-hourly <dollars>", "price of an hour while it is suspended; nothing, if left out")
    .option("--suspended-monthly <dollars>", "the most that a suspended month costs")
    .option("--deprecated", "kept for those who have it, not offered any more")
    .action(async (id: string, { memoryMb, diskMb, ...options }: PlanOptions) => {
      const { label, class: kind, vcpus, deprecated } = options;
      const saved = await adminClient().post<Plan>("/admin/plans", {
        ...{ id, label, class: kind, memory_mb: memoryMb, disk_mb: diskMb, vcpus, deprecated },
        price: priceIn(options),
      });
      output.printResult(
        saved,
        `Plan ${id}: ${saved.price.hourly} dollars an hour, ${saved.price.monthly} a month at most.`,
      );
    });
  plan
    .command("list")
    .description("every plan, deprecated ones too")
    .action(async () => {
      const plans = await adminClient().all<Plan>("/admin/plans");
      output.list(plans, planRow, "No plan yet. Make one with: moorage plan create --help");
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
  const engine = program.command("engine").description("database versions that can be created");
  engine
    .command("create <id>")
    .description(
      "offer a version, such as mysql/9.7.4; said again, it changes what new nodes are made from, and what others are patched to",
    )
    .requiredOption("--image <sha256>", "of the container image that hosts run")
    .requiredOption("--prepared <sha256>", "of the prepared data directory that nodes start from")
    .action(async (id: string, options: { image: string; prepared: string }) => {
      const saved = await adminClient().post<EngineVersion>("/admin/engines", { id, ...options });
      output.printResult(saved, `Engine version ${id}. Every host needs this image and this prepared directory.`);
    });
  engine
    .command("image <id> <sha256>")
    .description("give a version a newer image; its databases take it in their maintenance windows")
    .action(async (id: string, image: string) => {
      const path = `/admin/engines/${id.split("/").map(segment).join("/")}/image`;
      const saved = await adminClient().post<{ databases: number }>(path, { image });
      output.printResult(
        saved,
        `Engine version ${id}. Databases that take the image in their next windows: ${saved.databases}.`,
      );
    });
  engine
    .command("list")
    .description("every version, with what it is made from")
    .action(async () => {
      const versions = await adminClient().all<EngineVersion>("/admin/engines");
      const row = ({ id, image, prepared }: EngineVersion) => ({ id, image, prepared });
      output.list(versions, row, "No engine version yet. Make one with: moorage engine create --help");
    });
}
