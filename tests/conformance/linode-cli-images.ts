import { until } from "@moorage/testkit/until.ts";
import { unique } from "../kit/unique.ts";
import type { Checks } from "./checks.ts";
import { gone, one } from "./linode-cli-identity.ts";
import { type Cli, differs, lacks, type PlainCli, type Row } from "./linode-cli-rows.ts";
import { DISK_MB, diskFile, publish, retire } from "./machine-things.ts";

type Check = Checks["check"];
const WAIT_SECONDS = 900;

export type Machines = { folder: string; region: string; compute: string; disk: string; swap: string };

type Clis = { cli: Cli; other: Cli; plain: PlainCli };

/** Images, and the instances that they can be captured from. */
export async function images(clis: Clis, machines: Machines, check: Check): Promise<void> {
  await instances(clis.cli, machines, check);
  const image = await upload(clis, machines, check);
  if (image !== undefined) await use(clis, image, check);
  await refused(clis, machines, check);
  await capture(clis.cli, machines, check);
}

async function instances(cli: Cli, { compute, disk, swap }: Machines, check: Check): Promise<void> {
  await check("linodes list (the alias /linode/instances)", () => cli("linodes", "list"), lacks("id", Number(compute)));
  await check("linodes view", () => one(cli, "linodes", "view", compute), differs({ id: Number(compute) }));
  await check("linodes disks-list", () => cli("linodes", "disks-list", compute), lacks("id", Number(swap)));
  await check(
    "linodes disk-view",
    () => one(cli, "linodes", "disk-view", compute, disk),
    differs({ id: Number(disk), filesystem: "ext4", status: "ready" }),
  );
}

const untilAvailable = (cli: Cli, id: string): Promise<Row> =>
  until(`${id} is available`, WAIT_SECONDS, async () => {
    const row = await one(cli, "images", "view", id);
    return row["status"] === "available" && row;
  });

/** The command prints only a table, so the image is found by its label. */
async function uploaded({ cli, plain }: Clis, region: string, file: string, ...more: string[]): Promise<Row> {
  const label = unique("cli");
  await plain("image-upload", "--region", region, "--label", label, ...more, file);
  return one(cli, "images", "list", "--label", label);
}

async function upload(clis: Clis, { folder, region }: Machines, check: Check): Promise<string | undefined> {
  const file = await diskFile(folder, "disk.img.gz");
  const made = await check(
    "image-upload, and images list --label",
    () => uploaded(clis, region, file, "--description", "A test", "--cloud-init"),
    ({ description, capabilities }) =>
      description === "A test" && String(capabilities) === "cloud-init" ? undefined : "not as requested",
  );
  if (made === undefined) return undefined;
  const id = String(made["id"]);
  await check(
    "images view until available",
    () => untilAvailable(clis.cli, id),
    differs({ size: DISK_MB, type: "manual", is_public: false }),
  );
  return id;
}

async function use({ cli, other, plain }: Clis, id: string, check: Check): Promise<void> {
  await check("images list", () => cli("images", "list"), lacks("id", id));
  await check("images list --is_public", () => cli("images", "list", "--is_public", "false"), lacks("id", id));
  await check(
    "images update",
    () => one(cli, "images", "update", id, "--label", "renamed", "--description", "Another"),
    differs({ label: "renamed", description: "Another", size: DISK_MB }),
  );
  await check("images view by another account exits with 1", () => gone(other, "images", "view", id));
  await check("images delete by another account exits with 1", () => gone(other, "images", "delete", id));
  const published = await check("the operator publishes it", () => publish(id));
  if (published === undefined) return;
  const open = published.id;
  await check(
    "images view of a public one, by another account",
    () => one(other, "images", "view", open),
    differs({ is_public: true, created_by: "operator" }),
  );
  await check("images update of a public one exits with 1", () => gone(cli, "images", "update", open, "--label", "x"));
  await check("images delete of a public one exits with 1", () => gone(cli, "images", "delete", open));
  await check(
    "configure offers it, as it reads images without a token",
    () => plain("configure"),
    (output) => (output.includes(open) ? undefined : output.slice(-500)),
  );
  await check("the operator retires it", () => retire(open));
  await check("images view of what is gone exits with 1", () => gone(cli, "images", "view", open));
}

/** The program ignores the answer to its PUT: the event shows the result. */
async function refused(clis: Clis, { folder, region }: Machines, check: Check): Promise<void> {
  const file = await diskFile(folder, "no-disk.img.gz", Buffer.from("This is no disk."));
  const made = await check("image-upload of what is no disk", () => uploaded(clis, region, file));
  if (made === undefined) return;
  const { cli } = clis;
  const number = String(made["id"]).replace("private/", "");
  await check("events list says why it failed", () =>
    until("the import has failed", WAIT_SECONDS, async () => {
      const found = await cli(
        "events",
        "list",
        "--action",
        "image_upload",
        "--entity.type",
        "image",
        "--entity.id",
        number,
      );
      return found[0]?.["status"] === "failed" && /gzip/.test(String(found[0]["message"]));
    }),
  );
  await check("images view still shows it", () => one(cli, "images", "view", String(made["id"])), differs({ size: 0 }));
  await check("images delete", () => cli("images", "delete", String(made["id"])));
}

async function capture(cli: Cli, { disk, swap }: Machines, check: Check): Promise<void> {
  const made = await check(
    "images create from a disk",
    () => one(cli, "images", "create", "--disk_id", disk, "--label", "captured"),
    differs({ label: "captured", status: "creating" }),
  );
  await check("images create from swap exits with 1", () => gone(cli, "images", "create", "--disk_id", swap));
  if (made === undefined) return;
  const id = String(made["id"]);
  await check("images view until it was captured", () => untilAvailable(cli, id));
  await check("images delete of what was captured", () => cli("images", "delete", id));
}
