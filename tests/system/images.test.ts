import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Event, Image, ImageUpload } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pidOf, start, stop, waitHealthy } from "../../tools/stack/control.ts";
import { hostOf } from "../../tools/stack/hosts.ts";
import { canary } from "../kit/canaries.ts";
import { inside, clientA } from "../kit/client.ts";
import { debianDisk } from "../kit/debian-disk.ts";
import { imagesOf, numberOf, stackImageStores } from "../kit/images.ts";
import { moorage } from "../kit/moorage.ts";
import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";

const run = promisify(execFile);
const alice = tenant();
const images = imagesOf(alice);
const MB = 1024 ** 2;
/** The first run builds the disk, which takes some minutes. */
const MAKING_MS = 3_600_000;
const PATIENCE_S = 1800;

let disk: Awaited<ReturnType<typeof debianDisk>>;
let work: string;
/** The disk of a machine on the host: the same bytes, so that one file verifies both. */
let onHost: { id: number; path: string };
let uploaded: number;
let captured: number;

beforeAll(async () => {
  disk = await debianDisk();
  work = await mkdtemp(join(tmpdir(), "moorage-images-"));
  onHost = await putOnHost();
}, MAKING_MS);
afterAll(async () => {
  await start(["s3"]);
  await waitHealthy("s3");
  await operator(`/admin/disks/${onHost.id}/remove`, {});
  await Promise.all([rm(work, { recursive: true, force: true }), rm(onHost.path, { force: true })]);
});

async function putOnHost(): Promise<{ id: number; path: string }> {
  const path = join(dirname(env("MOORAGE_DISK_FILE")), "debian.img");
  await copyFile(disk.raw, path);
  const size_mb = Math.ceil((await stat(path)).size / MB);
  const body = { label: "debian", size_mb, filesystem: "raw", device: path };
  const { id } = await operator<{ id: number }>(`/admin/computes/${env("MOORAGE_COMPUTE")}/disks`, body);
  return { id, path };
}

async function linkTo(image: number, ...options: string[]): Promise<string> {
  const { url } = JSON.parse(await moorage("image", "link", `private/${image}`, ...options, "--json")) as {
    url: string;
  };
  canary("image link", new URL(url).searchParams.get("signature") ?? "");
  return url;
}

/** As whoever deploys it: from a host, with the URL that the operator creates. */
async function download(image: number, ...options: string[]): Promise<string> {
  const url = await linkTo(image, ...options);
  const file = join(work, `${image}.download`);
  await run("ip", ["netns", "exec", hostOf(1).namespace, "curl", "-fsS", "-o", file, url], {
    timeout: PATIENCE_S * 1000,
  });
  return file;
}

/** Nothing, or the first byte that differs. */
const difference = (file: string): Promise<string> =>
  run("cmp", [file, disk.raw]).then(
    () => "",
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  );

/** All bytes that the API process ever read and wrote, of files and of sockets. */
async function bytesThroughApi(): Promise<number> {
  const counts = await readFile(`/proc/${pidOf("api")}/io`, "utf8");
  return ["rchar", "wchar"].reduce(
    (sum, name) => sum + Number(new RegExp(`^${name}: (\\d+)`, "m").exec(counts)?.[1]),
    0,
  );
}

/** Read from the rows: polling the API would add to the bytes that are counted. */
const untilEnded = (id: number): Promise<unknown> =>
  until(`image ${id} is made`, PATIENCE_S, async () => {
    const [row] = await query<{ ended: boolean }>(
      "select status = 'available' or failed_at is not null or deleted_at is not null as ended from images where id = $1",
      [id],
    );
    return row?.ended;
  });

const viewMade = async (id: number, action: "image_upload" | "disk_imagize"): Promise<[Image, Event]> => {
  const event = await images.untilMade(id, action);
  expect(event).toMatchObject({ status: "finished", percent_complete: 100 });
  return [await images.untilAvailable(id), event];
};

test(
  "a Debian disk uploaded with curl comes back byte for byte in both formats",
  async () => {
    const { body } = await alice.call<ImageUpload>("POST", "/v4/images/upload", {
      label: "Debian",
      description: "boots",
      region: env("MOORAGE_REGION"),
      cloud_init: true,
    });
    uploaded = numberOf(body.image);
    canary("upload address", new URL(body.upload_to).searchParams.get("X-Amz-Signature") ?? "");
    const through = await bytesThroughApi();
    await run("ip", [
      ...inside(clientA(), "curl", "-fsS", "-X", "PUT", "-H", "Content-type: application/octet-stream"),
      "--upload-file",
      disk.packed,
      body.upload_to,
    ]);
    await untilEnded(uploaded);
    expect((await bytesThroughApi()) - through).toBeLessThan((await stat(disk.packed)).size / 10);
    const [image] = await viewMade(uploaded, "image_upload");

    const { size } = await stat(disk.raw);
    expect(image).toMatchObject({ status: "available", size: Math.ceil(size / MB), capabilities: ["cloud-init"] });
    expect(await difference(await download(uploaded))).toBe("");
    await run("bash", [
      "-c",
      'set -o pipefail; gzip -dc "$1" | cmp - "$2"',
      "-",
      await download(uploaded, "--format", "gzip"),
      disk.raw,
    ]);
  },
  MAKING_MS,
);

test(
  "a machine's disk is captured by its host with progress, and comes back byte for byte",
  async () => {
    const through = await bytesThroughApi();
    const { status, body } = await alice.call<Image>("POST", "/v4/images", { disk_id: onHost.id });
    expect(status).toBe(200);
    expect(body).toMatchObject({ label: "debian", status: "creating", size: 0 });
    captured = numberOf(body);
    await untilEnded(captured);
    expect((await bytesThroughApi()) - through).toBeLessThan((await stat(disk.packed)).size / 10);
    const [image, event] = await viewMade(captured, "disk_imagize");
    expect(event).toMatchObject({
      entity: { type: "compute", id: Number(env("MOORAGE_COMPUTE")) },
      secondary_entity: { type: "image", id: captured },
    });
    expect(image.size).toBe(Math.ceil((await stat(disk.raw)).size / MB));
    expect(await difference(await download(captured))).toBe("");
  },
  MAKING_MS,
);

test(
  "with the store of its region down, an image is deployed from the store of the other region",
  async () => {
    const second = env("MOORAGE_SECOND_REGION");
    for (const id of [uploaded, captured])
      await until(`image ${id} is in ${second}`, PATIENCE_S, async () =>
        (await images.view(id)).body.regions.some(({ region, status }) => region === second && status === "available"),
      );
    await stop(["s3"]);
    try {
      expect(await difference(await download(uploaded, "--region", second))).toBe("");
      expect(await difference(await download(captured))).toBe("");
    } finally {
      await start(["s3"]);
      await waitHealthy("s3");
    }
  },
  MAKING_MS,
);

test(
  "a deleted image is gone from every store, and its URL no longer works",
  async () => {
    const url = await linkTo(uploaded);
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    for (const id of [uploaded, captured]) {
      expect((await alice.call("DELETE", `/v4/images/private/${id}`)).status).toBe(200);
      expect((await images.view(id)).status).toBe(404);
    }
    expect((await fetch(url, { method: "HEAD" })).status).toBe(404);
    await until(
      "nothing of them is left",
      PATIENCE_S,
      async () => (await objectsOf([uploaded, captured])).length === 0,
    );
  },
  MAKING_MS,
);

async function objectsOf(ids: readonly number[]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, list } of stackImageStores().all)
    for (const prefix of ids.flatMap((id) => [`images/${id}/`, `uploads/${id}`]))
      for await (const page of list(prefix)) found.push(...page.map(({ key }) => `${name}: ${key}`));
  return found;
}
