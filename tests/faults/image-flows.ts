import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { brokenImages } from "../../packages/control-plane/src/testing/broken-images.ts";
import { disksOf, hostOf } from "../../tools/stack/hosts.ts";
import { aDisk, aForeignDisk, packed } from "../kit/disks.ts";
import { imagesOf, numberOf, put, requireRaw, stackImageStores as stores } from "../kit/images.ts";
import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { until } from "../kit/until.ts";
import type { Flow, Stage } from "./flow.ts";
import { ownAccount } from "./transfer-flow.ts";

/** Small: what is struck are the steps, not the bytes. */
const MB = 17;
/** Long enough under way to be deleted in the middle. */
const LONG_MB = 400;

/** What becomes an image in a trial: its number once there is one, and the disk that it is of. */
export type ImageStage = { id: number; address: string; disk: Buffer<ArrayBuffer>; compute?: number; disk_id?: number };
const of = (stage: Stage): ImageStage => (stage.image ??= { id: 0, address: "", disk: aDisk(MB) });

async function ask(stage: Stage): Promise<ImageStage> {
  const { image, upload_to } = await imagesOf(stage.alice).uploadSurely(stage.label);
  return Object.assign(of(stage), { id: numberOf(image), address: upload_to });
}

async function anAvailableOne(stage: Stage): Promise<ImageStage> {
  const { id, address, disk } = await ask(stage);
  await put(address, packed(disk));
  await untilHeld(stage, id);
  return of(stage);
}

/** Available in every store, and its making told of once. */
async function untilHeld({ alice }: Stage, id: number, action: "image_upload" | "disk_imagize" = "image_upload") {
  await imagesOf(alice).untilAvailable(id, 300);
  const event = await imagesOf(alice).untilMade(id, action);
  if (event.status !== "finished") throw new Error(`${action} is ${event.status}: ${event.message}`);
  await until(`image ${id} lies in every store`, 120, async () => {
    // Who copied it may have died, or a store was away: two minutes, which are made seconds.
    await query(
      "update image_copies set next_try_at = least(next_try_at, now() + interval '5 seconds') where image_id = $1",
      [id],
    );
    return (await query("select 1 from image_copies where image_id = $1 and status = 'pending'", [id])).length === 0;
  });
}

async function untilFailed(stage: Stage, action: "image_upload" | "disk_imagize", why: RegExp): Promise<void> {
  const { status, message } = await imagesOf(stage.alice).untilMade(of(stage).id, action);
  if (status !== "failed" || !why.test(message ?? "")) throw new Error(`${action} is ${status}: ${message}`);
}

/** Waits of hours are made short in the rows, never in the code. */
const dueNow = (id: number): Promise<unknown> =>
  query("update images set remove_at = now() - interval '1 second' where id = $1", [id]);

/**
 * Nothing of a deleted image is in any store, and nothing can come any more. Its address is made old first, as a day
 * would, and it is not waited for a store that was away a moment ago.
 */
export async function untilCleared(id: number): Promise<void> {
  await query("update images set upload_until = upload_until - interval '2 days' where id = $1", [id]);
  await until(`image ${id} is cleared from the stores`, 600, async () => {
    await query("update images set clear_at = null where id = $1 and clear_at > now() and cleared_at is null", [id]);
    return (await query("select 1 from images where id = $1 and cleared_at is not null", [id])).length === 1;
  });
}

/** A disk of the inventory on the first host, which its agent may read. */
async function aDiskOnAHost(stage: Stage, exists = true): Promise<ImageStage> {
  const image = of(stage);
  const device = join(disksOf(hostOf(1)), `${stage.label}.raw`);
  const { id: compute } = await operator<{ id: number }>(`/admin/accounts/${await ownAccount()}/computes`, {
    ...{ label: stage.label, region: env("MOORAGE_REGION"), host: "host-1" },
  });
  const { id: disk_id } = await operator<{ id: number }>(`/admin/computes/${compute}/disks`, {
    ...{ label: stage.label, size_mb: MB, filesystem: "raw", device },
  });
  if (exists) {
    await mkdir(dirname(device), { recursive: true });
    await writeFile(device, image.disk);
    stage.afterwards = () => rm(device, { force: true });
  }
  return Object.assign(image, { compute, disk_id });
}

async function capture(stage: Stage): Promise<number> {
  const image = of(stage);
  image.id = numberOf(await imagesOf(stage.alice).captureSurely(image.disk_id ?? 0, stage.label));
  return image.id;
}

/** Its data are there, and are being read. */
export const importBegins = (stage: Stage): Promise<unknown> =>
  until("its import begins", 120, async () => {
    const { id } = of(stage);
    return (await query("select 1 from images where id = $1 and operation_id is not null", [id])).length === 1;
  });

/** Its host is at it, or was. */
export const captureBegins = (stage: Stage): Promise<unknown> =>
  until("its host begins", 120, async () => {
    const { id } = of(stage);
    const [image] = await query<{ waits: boolean }>(
      "select exists (select from captures c where c.image_id = i.id and c.observed_state is null) as waits from images i where id = $1",
      [id],
    );
    return image?.waits === false;
  });

/** Nothing of it stays: neither in rows that are shown, nor in a store. */
export async function removeImage({ alice, image }: Stage): Promise<void> {
  if (image === undefined || image.id === 0) return;
  await imagesOf(alice).deleteSurely(image.id);
  await untilCleared(image.id);
}

/** As the processes announce them. */
export const isImageStep = (step: string): boolean =>
  /^(api|worker)\..*(Image|Capture|Upload)|^fleet\.(captures|image-uploads)$|^agent\.capture\./.test(step);
const owns: Flow["owns"] = (step) => isImageStep(step) || step.startsWith("relay.");

/** Under way for long enough that something can happen to it. */
export const longUpload: Flow = {
  prepare: async (stage) => {
    of(stage).disk = aDisk(LONG_MB);
  },
  run: async (stage) => {
    const { id, disk } = await anAvailableOne(stage);
    await requireRaw(id, disk);
  },
  owns: () => false,
};

export const longCapture: Flow = {
  prepare: async (stage) => {
    of(stage).disk = aDisk(LONG_MB);
    await aDiskOnAHost(stage);
  },
  run: async (stage) => {
    const id = await capture(stage);
    await untilHeld(stage, id, "disk_imagize");
    await requireRaw(id, of(stage).disk);
  },
  owns: () => false,
};

export const imageFlows = {
  "image-upload": {
    prepare: async () => {},
    run: async (stage) => {
      const { id, disk } = await anAvailableOne(stage);
      await requireRaw(id, disk);
    },
    owns,
  },
  "image-refused": {
    prepare: async () => {},
    run: async (stage) => {
      const { id, address } = await ask(stage);
      await put(address, packed(aForeignDisk()));
      await untilFailed(stage, "image_upload", /qcow2/i);
      await dueNow(id);
      await imagesOf(stage.alice).untilGone(id);
      await untilCleared(id);
    },
    owns,
  },
  "image-silence": {
    prepare: async (stage) => void (await ask(stage)),
    run: async (stage) => {
      const { id } = of(stage);
      await dueNow(id);
      await imagesOf(stage.alice).untilGone(id);
      await untilFailed(stage, "image_upload", /24 hours/);
      await untilCleared(id);
    },
    owns,
  },
  "image-change": {
    prepare: async (stage) => void (await anAvailableOne(stage)),
    run: async (stage) => {
      await imagesOf(stage.alice).changeSurely(of(stage).id, { description: "changed" });
      const { body } = await imagesOf(stage.alice).view(of(stage).id);
      if (body.description !== "changed") throw new Error(`its description is ${body.description}`);
    },
    owns,
  },
  "image-delete": {
    prepare: async (stage) => void (await anAvailableOne(stage)),
    run: async (stage) => {
      const { id } = of(stage);
      await imagesOf(stage.alice).deleteSurely(id);
      const told = await imagesOf(stage.alice).events(id, "image_delete");
      if (told.length !== 1) throw new Error(`one deletion has ${told.length} events`);
      await untilCleared(id);
    },
    owns,
  },
  "image-delete-amid-import": {
    prepare: longUpload.prepare,
    run: async (stage) => {
      const { id, address, disk } = await ask(stage);
      await put(address, packed(disk));
      await importBegins(stage);
      await imagesOf(stage.alice).deleteSurely(id);
      // Which of them was first is not ours to say; it is told once, and nothing of it stays.
      await imagesOf(stage.alice).untilMade(id, "image_upload");
      await untilCleared(id);
    },
    owns,
  },
  "image-capture": {
    prepare: async (stage) => void (await aDiskOnAHost(stage)),
    run: async (stage) => {
      const id = await capture(stage);
      await untilHeld(stage, id, "disk_imagize");
      await requireRaw(id, of(stage).disk);
    },
    owns,
  },
  "image-capture-failed": {
    prepare: async (stage) => void (await aDiskOnAHost(stage, false)),
    run: async (stage) => {
      const id = await capture(stage);
      await untilFailed(stage, "disk_imagize", /./);
      await imagesOf(stage.alice).untilGone(id);
      await untilCleared(id);
    },
    owns,
  },
  "image-delete-amid-capture": {
    prepare: longCapture.prepare,
    run: async (stage) => {
      const id = await capture(stage);
      await captureBegins(stage);
      await imagesOf(stage.alice).deleteSurely(id);
      await imagesOf(stage.alice).untilMade(id, "disk_imagize");
      await untilCleared(id);
    },
    // Whether its host still says anything is left to chance.
    owns: (step) => owns(step) && !/signal|manifest/.test(step),
  },
  "image-automatic": {
    prepare: async (stage) => void (await aDiskOnAHost(stage)),
    run: async (stage) => {
      const { compute } = of(stage);
      const path = `/admin/computes/${compute}/remove`;
      const made = () =>
        query<{ id: number }>("select id from images where type = 'automatic' and label like $1 || '%'", [stage.label]);
      // The answer may be lost with the process; a second removal is told that there is none.
      await until("the instance is removed", 60, async () => {
        if ((await made()).length > 0) return true;
        await operator(path, {});
        return true;
      });
      const [automatic, ...others] = await made();
      if (automatic === undefined || others.length > 0) throw new Error(`${others.length} more automatic images`);
      of(stage).id = automatic.id;
      await untilHeld(stage, automatic.id, "disk_imagize");
      await dueNow(automatic.id);
      await imagesOf(stage.alice).untilGone(automatic.id);
      await untilCleared(automatic.id);
    },
    owns,
  },
  "image-sweep": {
    prepare: async (stage) => {
      const { id, address } = await anAvailableOne(stage);
      // What a dead worker leaves, and a tenant who uploads once more by the same address.
      for (const store of stores().all) await store.put(`images/${id}/${randomUUID()}/chunk-000000`, "a dead try");
      await put(address, packed(aForeignDisk()));
    },
    run: async (stage) => {
      const { id, disk } = of(stage);
      await until("both stores are swept", 90, async () => {
        await query("update image_sweeps set swept_at = now() - interval '2 days'");
        return (await brokenImages(query, stores().all)).length === 0;
      });
      await requireRaw(id, disk);
    },
    owns,
  },
  "image-public": {
    prepare: async (stage) => void (await anAvailableOne(stage)),
    run: async (stage) => {
      const { id } = of(stage);
      const name = stage.label;
      const shown = async () => (await stage.alice.call("GET", `/v4/images/operator/${name}`)).status;
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
