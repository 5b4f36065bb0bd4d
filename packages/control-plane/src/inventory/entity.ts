import type { EventEntity } from "@moorage/contract";

/** The entity of a compute instance in events. */
export const entityOfCompute = ({ id, label }: { id: number; label: string }) =>
  ({ id, label, type: "compute", url: `/v4/compute/instances/${id}` }) satisfies EventEntity;
