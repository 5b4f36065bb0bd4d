import type { EventEntity } from "@moorage/contract";

/** How a compute instance is named in events. */
export const entityOfCompute = ({ id, label }: { id: number; label: string }) =>
  ({ id, label, type: "compute", url: `/v4/compute/instances/${id}` }) satisfies EventEntity;
