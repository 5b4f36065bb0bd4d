import * as contract from "@moorage/contract/operator";
import { texts } from "../compute/texts.ts";
import { tableOf } from "../output.ts";
import { type AdminCommand, define } from "./admin-command.ts";

const columns = ["id", "account", "label", "region", "plan", "host"] as const;

/** Compute instances, their disks and their maintenance. */
export const computeCommands: readonly AdminCommand[] = [
  define({
    words: "compute add",
    operation: contract.saveCompute,
    arguments: ["label"],
    print: ({ label, id }) => texts.instanceSaved({ label, id }),
  }),
  define({ words: "compute list", operation: contract.listComputes, list: columns, empty: texts.noInstances() }),
  define({
    words: "compute show",
    operation: contract.viewCompute,
    print: ({ disks, id, account, label, region, plan, host }) => {
      const instance = tableOf([{ id, account, label, region, plan, host }]);
      const below = disks.length === 0 ? texts.noDisks({ compute: String(id) }).text : tableOf(disks.map(rowOfDisk));
      return [instance, below].join("\n");
    },
  }),
  define({
    words: "compute remove",
    operation: contract.removeCompute,
    print: ({ id, label, account, images, not_kept }) =>
      [
        texts.instanceRemoved({ label, id, account }),
        ...images.map(({ id: image, ...disk }) => texts.diskCaptured({ ...disk, image })),
        ...not_kept.map((disk) => texts.diskNotCaptured(disk)),
        ...(images.length === 0 ? [] : [texts.keepDisks({ account })]),
      ]
        .map(({ text }) => text)
        .join("\n"),
  }),
  define({
    words: "disk add",
    operation: contract.saveDisk,
    arguments: ["label"],
    print: ({ label, id, compute }) => texts.diskSaved({ label, id, compute: String(compute) }),
  }),
  define({
    words: "disk list",
    operation: contract.listDisks,
    list: rowOfDisk,
    empty: ({ computeId = "" }) => texts.noDisks({ compute: computeId }),
  }),
  define({ words: "disk remove", operation: contract.removeDisk, print: (removed) => texts.diskRemoved(removed) }),
  define({
    words: "maintenance schedule",
    operation: contract.scheduleMaintenance,
    print: (saved) => texts.maintenanceScheduled(saved),
  }),
  define({
    words: "maintenance start",
    operation: contract.startMaintenance,
    print: (saved) => texts.maintenanceChanged(saved),
  }),
  define({
    words: "maintenance complete",
    operation: contract.completeMaintenance,
    print: (saved) => texts.maintenanceChanged(saved),
  }),
  define({
    words: "maintenance cancel",
    operation: contract.cancelMaintenance,
    print: (saved) => texts.maintenanceChanged(saved),
  }),
  define({
    words: "maintenance list",
    operation: contract.listMaintenance,
    list: ["id", "account", "compute", "label", "type", "status", "when", "reason"],
    empty: texts.noMaintenance(),
  }),
];

function rowOfDisk({ id, label, size_mb, filesystem, device }: contract.Disk) {
  return { id, label, "size MB": size_mb, filesystem, device };
}
