import type { ImageFormat } from "@moorage/contract/operator";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Fault } from "./image-content.ts";

/** `left`: the client disconnected. `broken`: the server could not continue. */
export type Outcome = "whole" | "left" | "broken";

export function createImageServerMetrics(registry: Registry) {
  const registers = [registry];
  const open = new Gauge({ name: "moorage_image_server_streams", help: "Images that are being sent.", registers });
  const ended = new Counter({
    name: "moorage_image_server_streams_total",
    help: "Images that were sent, by how that ended.",
    labelNames: ["format", "outcome"],
    registers,
  });
  const bytes = new Counter({
    name: "moorage_image_server_sent_bytes_total",
    help: "Bytes of images, as they were sent.",
    labelNames: ["format"],
    registers,
  });
  const faults = new Counter({
    name: "moorage_image_server_store_faults_total",
    help: "Objects that a store did not return as they were stored, by store and by fault.",
    labelNames: ["store", "fault"],
    registers,
  });
  return {
    open: (count: number): void => open.set(count),
    sent: (format: ImageFormat, count: number): void => bytes.inc({ format }, count),
    ended: (format: ImageFormat, outcome: Outcome): void => ended.inc({ format, outcome }),
    fault: (store: string, fault: Fault): void => faults.inc({ store, fault }),
  };
}
export type ImageServerMetrics = ReturnType<typeof createImageServerMetrics>;
