"""Images, and the instance that one is captured from."""

import time

from linode_api4 import Image, Instance
from linode_api4.objects import Disk

from report import check, given, number, refused, unless

WAIT_SECONDS = 900


def day(client, other):
    machine = instances(client)
    upload(client, other)
    if machine is not None:
        capture(client, machine)


def instances(client):
    machine, disk = number("MACHINE"), number("MACHINE_DISK")
    check("linode.instances (the alias /linode/instances)", lambda: [each.id for each in client.linode.instances()],
          lambda ids: unless(machine in ids, ids))
    seen = check("load Instance", lambda: client.load(Instance, machine), lambda i: unless(i.label, i.label))
    if seen is None:
        return None
    check("Instance.disks", lambda: [each.id for each in seen.disks], lambda ids: unless(ids == [disk], ids))
    check("load Disk", lambda: client.load(Disk, disk, machine).filesystem, lambda kind: unless(kind == "ext4", kind))
    return seen


def available(client, image):
    """It has no waiter for images: it looks again, as its own tests do."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        seen = client.load(Image, image.id)
        if seen.status == "available":
            return seen
        time.sleep(0.5)
    raise TimeoutError(f"{image.id} is not available")


def upload(client, other):
    poller = client.polling.event_poller_create("image", "image_upload")
    with open(given("IMAGE_FILE"), "rb") as data:
        image = check("images.upload", lambda: client.images.upload(given("LABEL"), given("REGION"), data, description="A test"),
                      lambda i: unless(i.label == given("LABEL"), i.label))
    if image is None:
        return
    poller.set_entity_id(int(image.id.removeprefix("private/")))
    check("EventPoller image_upload", lambda: poller.wait_for_next_event_finished(WAIT_SECONDS, 1).status,
          lambda status: unless(status == "finished", status))
    check("load Image until available, by an id with a slash", lambda: available(client, image).size,
          lambda size: unless(size == number("IMAGE_MB"), size))
    check("images by label", lambda: [each.id for each in client.images(Image.label == image.label)],
          lambda ids: unless(ids == [image.id], ids))
    renamed = client.load(Image, image.id)
    renamed.label = "renamed"
    check("Image.save", renamed.save, lambda saved: unless(saved, saved))
    refused("another account's image is 404", lambda: other.load(Image, image.id), 404)
    check("Image.delete", renamed.delete)


def capture(client, machine):
    disk = client.load(Disk, number("MACHINE_DISK"), machine.id)
    poller = client.polling.event_poller_create("compute", "disk_imagize", machine.id)
    image = check("images.create from a disk", lambda: client.images.create(disk, label="captured"),
                  lambda i: unless(i.status == "creating", i.status))
    if image is None:
        return
    check("EventPoller disk_imagize", lambda: poller.wait_for_next_event_finished(WAIT_SECONDS, 1).status,
          lambda status: unless(status == "finished", status))
    check("load Image until it was captured", lambda: available(client, image).size, lambda size: unless(size > 0, size))
    check("Image.delete of what was captured", image.delete)
