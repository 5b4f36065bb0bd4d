import { defineTexts, text } from "@moorage/contract/texts";

/** Compute instances, their disks and their maintenance. */
export const texts = defineTexts("cli_compute", {
  instanceSaved: text(
    ({ label, id }: { label: string; id: number }) =>
      `Compute instance ${label} (${id}) is saved. Next, register its disks: moorage admin disk add ${id} --help`,
    { label: "web", id: 7 },
  ),
  noInstances: text(() => "There is no compute instance. Register one: moorage admin compute add --help"),
  instanceRemoved: text(
    ({ label, id, account }: { label: string; id: number; account: number }) =>
      `Compute instance ${label} (${id}) of account ${account} is removed.`,
    { label: "web", id: 7, account: 12 },
  ),
  diskCaptured: text(
    ({ label, disk, image, expiry }: { label: string; disk: number; image: string; expiry: string }) =>
      `Disk ${label} (${disk}) becomes the image ${image}, which is kept until ${expiry} UTC and then deleted.`,
    { label: "root", disk: 3, image: "private/12", expiry: "2026-02-07T00:00:00" },
  ),
  diskNotCaptured: text(
    ({ label, disk, reason }: { label: string; disk: number; reason: string }) =>
      `Disk ${label} (${disk}) does not become an image: ${reason}`,
    { label: "swap", disk: 4, reason: "A swap disk cannot be captured." },
  ),
  keepDisks: text(
    ({ account }: { account: number }) =>
      `Keep the disks on their host until the images are available: moorage admin image list --account ${account}`,
    { account: 12 },
  ),
  diskSaved: text(
    ({ label, id, compute }: { label: string; id: number; compute: string }) =>
      `Disk ${label} (${id}) of compute instance ${compute} is saved.`,
    { label: "root", id: 3, compute: "7" },
  ),
  noDisks: text(
    ({ compute }: { compute: string }) =>
      `Compute instance ${compute} has no disk. Register one: moorage admin disk add ${compute} --help`,
    { compute: "7" },
  ),
  diskRemoved: text(
    ({ label, id, compute }: { label: string; id: number; compute: number }) =>
      `Disk ${label} (${id}) of compute instance ${compute} is removed.`,
    { label: "root", id: 3, compute: 7 },
  ),
  maintenanceScheduled: text(
    ({ id, type, label, when }: { id: number; type: string; label: string; when: string }) =>
      `Maintenance ${id} is scheduled: ${type} of ${label} at ${when} UTC. When the work starts: moorage admin maintenance start ${id}`,
    { id: 5, type: "reboot", label: "web", when: "2030-01-31T02:00:00" },
  ),
  maintenanceChanged: text(
    ({ id, type, compute, status }: { id: number; type: string; compute: number; status: string }) =>
      `Maintenance ${id} (${type} of compute instance ${compute}) is ${status}.`,
    { id: 5, type: "reboot", compute: 7, status: "started" },
  ),
  noMaintenance: text(() => "There is no maintenance. Schedule one: moorage admin maintenance schedule --help"),
});
