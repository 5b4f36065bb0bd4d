import type { Image } from "@moorage/contract";
import { createPurgingImageStores, type ImageSettings } from "#images/index.ts";
import { startGateway } from "./gateway.ts";
import type { ObjectStore } from "./object-store.ts";
import { type CapturingHost, simulateCaptures } from "./simulated-capture.ts";
import { newWorld, type World } from "./world.ts";

export const DEVICE = "/dev/vg/root";
type Owner = Awaited<ReturnType<World["customer"]>>;

/** A world with images in a real store, a host that can capture, and an instance with one disk on it. */
export async function captureFixture(store: ObjectStore, settings: { images?: Partial<ImageSettings> } = {}) {
  const parts = new AsyncDisposableStack();
  const imageStores = parts.adopt(
    createPurgingImageStores({ default: { regions: [], ...store.settings } }, 24),
    async ({ close }) => close(),
  );
  const world = parts.use(await newWorld({ ...settings, imageStores }));
  const gateway = parts.use(await startGateway(world));
  const host = simulateCaptures(gateway, await gateway.enrolledHost());
  await host.poll();
  const alice = await world.customer();

  const disk = async (
    owner: Owner,
    change: { label?: string; size_mb?: number; filesystem?: string; device?: string } = {},
    on: { host?: string } = { host: host.name },
  ) => {
    const compute = await world.compute(owner.accountId, on);
    const body = { label: "root", size_mb: 9, filesystem: "ext4", device: DEVICE, ...change };
    const { body: saved } = await world.operator.post<{ id: number }>(`/admin/computes/${compute.id}/disks`, body);
    return { id: saved.id, compute };
  };
  return {
    world,
    gateway,
    host,
    alice,
    disk,
    own: await disk(alice),
    capture: (id: number, body: object = {}) => alice.post<Image>("/v4/images", { disk_id: id, ...body }),
    /** The only capture that the host was just sent. */
    only: async () => {
      await host.poll();
      return [...host.known.values()][0] as NonNullable<ReturnType<CapturingHost["known"]["get"]>>;
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
