import { Gauge, type Registry } from "prom-client";
import type { Protection } from "../store-protection.ts";

export type KeptStore = { name: string; protection: () => Promise<Protection>; hasOwnKey: boolean };

/** A store that cannot be asked at the moment has no value of its own protection. */
export function addProtectionGauge(registry: Registry, stores: readonly KeptStore[]): void {
  const gauge = new Gauge({
    name: "moorage_object_store_protection",
    help: "Whether a store has what prevents early deletion (1) or not (0): object_lock, versions, own_purge_key.",
    labelNames: ["store", "by"],
    registers: [],
    async collect() {
      this.reset();
      for (const { name: store, protection, hasOwnKey } of stores) {
        this.set({ store, by: "own_purge_key" }, Number(hasOwnKey));
        const found = await protection().catch(() => undefined);
        if (found === undefined) continue;
        this.set({ store, by: "object_lock" }, Number(found.objectLock));
        this.set({ store, by: "versions" }, Number(found.versions));
      }
    },
  });
  registry.registerMetric(gauge);
}
