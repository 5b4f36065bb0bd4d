import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { until } from "@moorage/testkit/until.ts";
import { brokenImages } from "../../packages/control-plane/src/testing/broken-images.ts";
import { disksOf, hostOf } from "../../tools/stack/hosts.ts";
import { aDisk, aForeignDisk, packed } from "../kit/disks.ts";
import { imagesOf, numberOf, put, requireRaw, stackImageStores as stores } from "../kit/images.ts";
import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import type { Flow, Fixture } from "./flow.ts";
import { ownAccount } from "./transfer-flow.ts";

/** Small: the trials test the steps, not the data. */
const MB = 17;
/** Large enough to be deleted while it is being imported. */
const LONG_MB = 400;

/** The image of a trial: its number once it exists, and the disk that it is made from. */
export type ImageFixture = {
  id: number;
  address: string;
  disk: Buffer<ArrayBuffer>;
  compute?: number;
  disk_id?: number;
};
const of = (fixture: Fixture): ImageFixture => (fixture.image ??= { id: 0, address: "", disk: aDisk(MB) });

async function requestUpload(fixture: Fixture): Promise<ImageFixture> {
  const { image, upload_to } = await imagesOf(fixture.alice).uploadSurely(fixture.label);
  return Object.assign(of(fixture), { id: numberOf(image), address: upload_to });
}

async function anAvailableOne(fixture: Fixture): Promise<ImageFixture> {
  const { id, address, disk } = await requestUpload(fixture);
  await put(address, packed(disk));
  await untilHeld(fixture, id);
  return of(fixture);
}

/** Available in every store, with exactly one event for its creation. */
async function untilHeld({ alice }: Fixture, id: number, action: "image_upload" | "disk_imagize" = "image_upload") {
  await imagesOf(alice).untilAvailable(id, 300);
  const event = await imagesOf(alice).untilMade(id, action);
  if (event.status !== "finished") throw new Error(`${action} is ${event.status}: ${event.message}`);
  await until(`image ${id} lies in every store`, 120, async () => {
    // If the copying worker died or a store was down, the retry comes after two minutes; shortened to seconds.
    await query(
      "update image_copies set next_try_at = least(next_try_at, now() + interval '5 seconds') where image_id = $1",
      [id],
    );
    return (await query("select 1 from image_copies where image_id = $1 and status = 'pending'", [id])).length === 0;
  });
}

async function untilFailed(fixture: Fixture, action: "image_upload" | "disk_imagize", why: RegExp): Promise<void> {
  const { status, message } = await imagesOf(fixture.alice).untilMade(of(fixture).id, action);
  if (status !== "failed" || !why.test(message ?? "")) throw new Error(`${action} is ${status}: ${message}`);
}

/** Waits of hours are shortened in the rows, never in the code. */
const dueNow = (id: number): Promise<unknown> =>
  query("update images set remove_at = now() - interval '1 second' where id = $1", [id]);

/**
 * No store has anything of a deleted image, and no upload can arrive any more. The upload URL is made to expire first,
 * as after a day, and the retry delay for a store that was down is skipped.
 */
export async function untilCleared(id: number): Promise<void> {
  await query("update images set upload_until = upload_until - interval '2 days' where id = $1", [id]);
  await until(`image ${id} is cleared from the stores`, 600, async () => {
    await query("update images set clear_at = null where id = $1 and clear_at > now() and cleared_at is null", [id]);
    return (await query("select 1 from images where id = $1 and cleared_at is not null", [id])).length === 1;
  });
}

/** A registered disk on the first host, which its agent may read. */
async function aDiskOnAHost(fixture: Fixture, exists = true): Promise<ImageFixture> {
  const image = of(fixture);
  const device = join(disksOf(hostOf(1)), `${fixture.label}.raw`);
  const { id: compute } = await operator<{ id: number }>(`/admin/accounts/${await ownAccount()}/computes`, {
    label: fixture.label,
    region: env("MOORAGE_REGION"),
    host: "host-1",
  });
  const { id: disk_id } = await operator<{ id: number }>(`/admin/computes/${compute}/disks`, {
    label: fixture.label,
    size_mb: MB,
    filesystem: "raw",
    device,
  });
  if (exists) {
    await mkdir(dirname(device), { recursive: true });
    await writeFile(device, image.disk);
    fixture.afterwards = () => rm(device, { force: true });
  }
  return Object.assign(image, { compute, disk_id });
}

async function capture(fixture: Fixture): Promise<number> {
  const image = of(fixture);
  image.id = numberOf(await imagesOf(fixture.alice).captureSurely(image.disk_id ?? 0, fixture.label));
  return image.id;
}

/** The data have arrived and are being read. */
export const importStarts = (fixture: Fixture): Promise<unknown> =>
  until("its import begins", 120, async () => {
    const { id } = of(fixture);
    return (await query("select 1 from images where id = $1 and operation_id is not null", [id])).length === 1;
  });

/** The host has started the capture, or finished it. */
export const captureStarts = (fixture: Fixture): Promise<unknown> =>
  until("its host begins", 120, async () => {
    const { id } = of(fixture);
    const [image] = await query<{ waits: boolean }>(
      "select exists (select from captures c where c.image_id = i.id and c.observed_state is null) as waits from images i where id = $1",
      [id],
    );
    return image?.waits === false;
  });

/** Leaves nothing of the image, neither in visible rows nor in a store. */
export async function removeImage({ alice, image }: Fixture): Promise<void> {
  if (image === undefined || image.id === 0) return;
  await imagesOf(alice).deleteSurely(image.id);
  await untilCleared(image.id);
}

/** As the processes announce them. */
export const isImageStep = (step: string): boolean =>
  /^(api|worker)\..*(Image|Capture|Upload)|^fleet\.(captures|image-uploads)$|^agent\.capture\./.test(step);
const owns: Flow["owns"] = (step) => isImageStep(step) || step.startsWith("relay.");

/** The import takes long enough for a fault to happen during it. */
export const longUpload: Flow = {
  prepare: async (fixture) => {
    of(fixture).disk = aDisk(LONG_MB);
  },
  run: async (fixture) => {
    const { id, disk } = await anAvailableOne(fixture);
    await requireRaw(id, disk);
  },
  owns: () => false,
};

export const longCapture: Flow = {
  prepare: async (fixture) => {
    of(fixture).disk = aDisk(LONG_MB);
    await aDiskOnAHost(fixture);
  },
  run: async (fixture) => {
    const id = await capture(fixture);
    await untilHeld(fixture, id, "disk_imagize");
    await requireRaw(id, of(fixture).disk);
  },
  owns: () => false,
};

export const imageFlows = {
  "image-upload": {
    prepare: async () => {},
    run: async (fixture) => {
      const { id, disk } = await anAvailableOne(fixture);
      await requireRaw(id, disk);
    },
    owns,
  },
  "image-refused": {
    prepare: async () => {},
    run: async (fixture) => {
      const { id, address } = await requestUpload(fixture);
      await put(address, packed(aForeignDisk()));
      await untilFailed(fixture, "image_upload", /qcow2/i);
      await dueNow(id);
      await imagesOf(fixture.alice).untilGone(id);
      await untilCleared(id);
    },
    owns,
  },
  "image-silence": {
    prepare: async (fixture) => void (await requestUpload(fixture)),
    run: async (fixture) => {
      const { id } = of(fixture);
      await dueNow(id);
      await imagesOf(fixture.alice).untilGone(id);
      await untilFailed(fixture, "image_upload", /24 hours/);
      await untilCleared(id);
    },
    owns,
  },
  "image-change": {
    prepare: async (fixture) => void (await anAvailableOne(fixture)),
    run: async (fixture) => {
      await imagesOf(fixture.alice).changeSurely(of(fixture).id, { description: "changed" });
      const { body } = await imagesOf(fixture.alice).view(of(fixture).id);
      if (body.description !== "changed") throw new Error(`its description is ${body.description}`);
    },
    owns,
  },
  "image-delete": {
    prepare: async (fixture) => void (await anAvailableOne(fixture)),
    run: async (fixture) => {
      const { id } = of(fixture);
      await imagesOf(fixture.alice).deleteSurely(id);
      const deletions = await imagesOf(fixture.alice).events(id, "image_delete");
      if (deletions.length !== 1) throw new Error(`one deletion has ${deletions.length} events`);
      await untilCleared(id);
    },
    owns,
  },
  "image-delete-amid-import": {
    prepare: longUpload.prepare,
    run: async (fixture) => {
      const { id, address, disk } = await requestUpload(fixture);
      await put(address, packed(disk));
      await importStarts(fixture);
      await imagesOf(fixture.alice).deleteSurely(id);
      // Either of them may win; there is one event, and nothing is left in the stores.
      await imagesOf(fixture.alice).untilMade(id, "image_upload");
      await untilCleared(id);
    },
    owns,
  },
  "image-capture": {
    prepare: async (fixture) => void (await aDiskOnAHost(fixture)),
    run: async (fixture) => {
      const id = await capture(fixture);
      await untilHeld(fixture, id, "disk_imagize");
      await requireRaw(id, of(fixture).disk);
    },
    owns,
  },
  "image-capture-failed": {
    prepare: async (fixture) => void (await aDiskOnAHost(fixture, false)),
    run: async (fixture) => {
      const id = await capture(fixture);
      await untilFailed(fixture, "disk_imagize", /./);
      await imagesOf(fixture.alice).untilGone(id);
      await untilCleared(id);
    },
    owns,
  },
  "image-delete-amid-capture": {
    prepare: longCapture.prepare,
    run: async (fixture) => {
      const id = await capture(fixture);
      await captureStarts(fixture);
      await imagesOf(fixture.alice).deleteSurely(id);
      await imagesOf(fixture.alice).untilMade(id, "disk_imagize");
      await untilCleared(id);
    },
    // Whether the host still reports anything is left to chance.
    owns: (step) => owns(step) && !/signal|manifest/.test(step),
  },
  "image-automatic": {
    prepare: async (fixture) => void (await aDiskOnAHost(fixture)),
    run: async (fixture) => {
      const { compute } = of(fixture);
      const path = `/admin/computes/${compute}/remove`;
      const made = () =>
        query<{ id: number }>("select id from images where type = 'automatic' and label like $1 || '%'", [
          fixture.label,
        ]);
      // The answer may be lost with the process; a second removal is answered that there is none.
      await until("the instance is removed", 60, async () => {
        if ((await made()).length > 0) return true;
        await operator(path, {});
        return true;
      });
      const [automatic, ...others] = await made();
      if (automatic === undefined || others.length > 0) throw new Error(`${others.length} more automatic images`);
      of(fixture).id = automatic.id;
      await untilHeld(fixture, automatic.id, "disk_imagize");
      await dueNow(automatic.id);
      await imagesOf(fixture.alice).untilGone(automatic.id);
      await untilCleared(automatic.id);
    },
    owns,
  },
  "image-sweep": {
    prepare: async (fixture) => {
      const { id, address } = await anAvailableOne(fixture);
      // Leftovers of a dead worker, and a second upload by the tenant to the same URL.
      for (const store of stores().all) await store.put(`images/${id}/${randomUUID()}/chunk-000000`, "a dead try");
      await put(address, packed(aForeignDisk()));
    },
    run: async (fixture) => {
      const { id, disk } = of(fixture);
      await until("both stores are swept", 90, async () => {
        await query("update image_sweeps set swept_at = now() - interval '2 days'");
        return (await brokenImages(query, stores().all)).length === 0;
      });
      await requireRaw(id, disk);
    },
    owns,
  },
  "image-public": {
    prepare: async (fixture) => void (await anAvailableOne(fixture)),
    run: async (fixture) => {
      const { id } = of(fixture);
      const name = fixture.label;
      const shown = async () => (await fixture.alice.call("GET", `/v4/images/operator/${name}`)).status;
      await until("it is published", 60, async () => {
        if ((await shown()) === 200) return true;
        await operator(`/admin/images/${id}/publish`, { name, label: "A drill" });
        return undefined;
      });
      await until("it is deprecated", 60, async () => operator(`/admin/images/${id}/deprecate`, {}));
      await until("it is retired", 60, async () => {
        if ((await shown()) === 404) return true;
        await operator(`/admin/images/${id}/retire`, {});
        return undefined;
      });
      await untilCleared(id);
    },
    owns,
  },
} satisfies Record<string, Flow>;
