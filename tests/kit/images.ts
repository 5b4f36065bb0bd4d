import { createHash, randomUUID } from "node:crypto";
import type { Event, Image, ImageUpload } from "@moorage/contract";
import { readSettings } from "@moorage/contract/settings";
import { until } from "@moorage/testkit/until.ts";
import { type ImageStores, imageStoresOf } from "../../packages/control-plane/src/images/index.ts";
import { imageStoreSettings } from "../../packages/control-plane/src/images/model/settings.ts";
import { controlPlaneEnv } from "../../tools/stack/services.ts";
import { query } from "./records.ts";
import { env } from "./stack-env.ts";
import type { Tenant } from "./tenant.ts";

/** The stores of the running stack, by the settings of its own processes. */
export const stackImageStores = (): ImageStores =>
  (opened ??= imageStoresOf(readSettings(imageStoreSettings, controlPlaneEnv("worker"))));
let opened: ImageStores | undefined;

export const numberOf = ({ id }: Pick<Image, "id">): number => Number(id.replace("private/", ""));

/** What a tenant does with images, through HTTP only. */
export function imagesOf(alice: Tenant) {
  const view = (id: number) => alice.call<Image>("GET", `/v4/images/private/${id}`);
  /**
   * Repeats the request with its key until it is answered: a client without an answer has no other way to get the URL.
   */
  const surely = async <Body>(what: string, path: string, body: object): Promise<Body> => {
    const key = randomUUID();
    return until(`${what} is accepted`, 60, async () => {
      const reply = await alice.call<Body>("POST", path, body, { "idempotency-key": key });
      if (reply.status === 400) throw new Error(`${what} was refused: ${JSON.stringify(reply.body)}`);
      return reply.status === 200 && reply.body;
    });
  };
  const events = async (id: number, action: Event["action"]): Promise<Event[]> => {
    const { body } = await alice.call<{ data: Event[] }>("GET", "/v4/account/events?page_size=500");
    return body.data.filter(
      (event) =>
        event.action === action && (event.action === "disk_imagize" ? event.secondary_entity : event.entity)?.id === id,
    );
  };
  return {
    view,
    events,
    uploadSurely: (label: string): Promise<ImageUpload> =>
      surely(`upload of ${label}`, "/v4/images/upload", { label, region: env("MOORAGE_REGION") }),
    captureSurely: (disk: number, label: string): Promise<Image> =>
      surely(`capture of ${disk}`, "/v4/images", { disk_id: disk, label }),
    changeSurely: (id: number, change: object): Promise<unknown> =>
      until(`change of image ${id}`, 60, async () => {
        const { status } = await alice.call("PUT", `/v4/images/private/${id}`, change);
        return status === 200;
      }),
    deleteSurely: (id: number): Promise<boolean> =>
      until(`deletion of image ${id} is accepted`, 60, async () => {
        const { status } = await alice.call("DELETE", `/v4/images/private/${id}`);
        return status === 200 || status === 404;
      }),
    untilAvailable: (id: number, seconds = 240): Promise<Image> =>
      until(`image ${id} is available`, seconds, async () => {
        const { status, body } = await view(id);
        if (status === 200 && body.status === "available") return body;
        const [failed] = (await rowsOfEvents(id)).filter((event) => event.status === "failed");
        if (failed !== undefined) throw new Error(`it failed: ${failed.message}`);
        return undefined;
      }),
    untilGone: (id: number, seconds = 120): Promise<boolean> =>
      until(`image ${id} is gone`, seconds, async () => (await view(id)).status === 404),
    /**
     * The single event of the image's creation, once it has ended. Waits up to a minute for a worker that dies while it
     * settles.
     */
    untilMade: (id: number, action: "image_upload" | "disk_imagize", seconds = 240): Promise<Event> =>
      until(`${action} of image ${id} has ended`, seconds, async () => {
        const found = await events(id, action);
        if (found.length !== 1) throw new Error(`there are ${found.length} events of it`);
        return found[0]?.status !== "started" && found[0];
      }),
  };
}

const rowsOfEvents = (id: number) =>
  query<{ status: string; message: string | null }>(
    "select status, message from events where id = (select event_id from images where id = $1)",
    [id],
  );

/** With the header that the interface names, and no other. */
export async function put(address: string, data: Uint8Array<ArrayBuffer>): Promise<void> {
  const reply = await fetch(address, {
    method: "PUT",
    headers: { "content-type": "application/octet-stream" },
    body: data,
    signal: AbortSignal.timeout(600_000),
  });
  if (!reply.ok) throw new Error(`The store answered ${reply.status}: ${(await reply.text()).slice(0, 200)}`);
}

/** Checks the source of the image by its row: `brokenImages` compares the data. */
export async function requireRaw(id: number, disk: Uint8Array): Promise<void> {
  const [row] = await query<{ raw: string }>("select encode(raw_sha256, 'hex') as raw from images where id = $1", [id]);
  if (row?.raw !== createHash("sha256").update(disk).digest("hex")) throw new Error(`image ${id} is of another disk`);
}
