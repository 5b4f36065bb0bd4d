package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/linode/linodego"
)

// Images and the instances that they can be captured from. IMAGE_FILE is a compressed disk of IMAGE_MB MB; MACHINE and
// MACHINE_DISK are an instance of the account and its disk.
func images(ctx context.Context, client, other *linodego.Client) {
	instances(ctx, client)
	image, ok := upload(ctx, client)
	if ok {
		useImage(ctx, client, other, image)
	}
	refusedUpload(ctx, client)
	capture(ctx, client)
	anonymous := linodego.NewClient(nil)
	_, err := anonymous.ListImages(ctx, nil)
	report("ListImages without a token", err, "the public ones")
}

func instances(ctx context.Context, client *linodego.Client) {
	machine, disk := number("MACHINE"), number("MACHINE_DISK")
	check("ListInstances (the alias /linode/instances) has the instance",
		func() ([]linodego.Instance, error) { return client.ListInstances(ctx, nil) },
		func(found []linodego.Instance) error {
			return require(slices.ContainsFunc(found, func(i linodego.Instance) bool { return i.ID == machine && i.Created != nil }), "%s", asJSON(found))
		})
	check("GetInstance",
		func() (*linodego.Instance, error) { return client.GetInstance(ctx, machine) },
		func(i *linodego.Instance) error {
			return require(i.Label != "" && i.Region == os.Getenv("REGION"), "%s", asJSON(i))
		})
	check("ListInstanceDisks has the disk",
		func() ([]linodego.InstanceDisk, error) { return client.ListInstanceDisks(ctx, machine, nil) },
		func(found []linodego.InstanceDisk) error {
			return require(slices.ContainsFunc(found, func(d linodego.InstanceDisk) bool { return d.ID == disk }), "%s", asJSON(found))
		})
	check("GetInstanceDisk",
		func() (*linodego.InstanceDisk, error) { return client.GetInstanceDisk(ctx, machine, disk) },
		func(d *linodego.InstanceDisk) error {
			return require(d.Size > 0 && d.Filesystem == linodego.FilesystemExt4 && d.Status == linodego.DiskReady, "%s", asJSON(d))
		})
}

func upload(ctx context.Context, client *linodego.Client) (*linodego.Image, bool) {
	data, err := os.ReadFile(os.Getenv("IMAGE_FILE"))
	if err != nil {
		report("IMAGE_FILE", err, "")
		return nil, false
	}
	image, address, err := client.CreateImageUpload(ctx, linodego.ImageCreateUploadOptions{
		Region: os.Getenv("REGION"), Label: os.Getenv("LABEL"), Description: "A test", CloudInit: true,
	})
	if err == nil {
		err = require(image.Status == linodego.ImageStatusPendingUpload && image.Size == 0 && image.Created != nil && address != "", "%s", asJSON(image))
	}
	report("CreateImageUpload", err, "an image and an address")
	if err != nil {
		return nil, false
	}
	err = client.UploadImageToURL(ctx, address, bytes.NewReader(data))
	report("UploadImageToURL", err, "accepted")
	available, ok := check("WaitForImageStatus available, by an id with a slash",
		func() (*linodego.Image, error) {
			return client.WaitForImageStatus(ctx, image.ID, linodego.ImageStatusAvailable, waitSeconds)
		},
		func(i *linodego.Image) error {
			return require(i.Size == number("IMAGE_MB") && slices.Equal(i.Capabilities, []string{"cloud-init"}) && !i.IsPublic, "%s", asJSON(i))
		})
	check("ListEvents of the upload, finished",
		func() ([]linodego.Event, error) {
			return client.ListEvents(ctx, filterBy("action", linodego.ActionImageUpload, "entity.type", linodego.EntityImage, "entity.id", numberOf(image)))
		},
		func(found []linodego.Event) error {
			return require(len(found) == 1 && found[0].Status == linodego.EventFinished, "%s", asJSON(found))
		})
	return available, ok
}

// The bare number, as in events.
func numberOf(image *linodego.Image) int {
	id := 0
	_, _ = fmt.Sscanf(image.ID, "private/%d", &id)
	return id
}

func useImage(ctx context.Context, client, other *linodego.Client, image *linodego.Image) {
	check("ListImages by label is that one, available in its region",
		func() ([]linodego.Image, error) { return client.ListImages(ctx, filterBy("label", image.Label)) },
		func(found []linodego.Image) error {
			return require(len(found) == 1 && slices.Contains(found[0].Regions, linodego.ImageRegion{Region: os.Getenv("REGION"), Status: linodego.ImageRegionStatusAvailable}), "%s", asJSON(found))
		})
	_, err := client.ListImages(ctx, linodego.NewListOptions(0, `{"+order_by": "status"}`))
	report("ListImages in the order of the status is 400", require(linodego.ErrHasStatus(err, 400), "%v", err), fmt.Sprint(err))
	without := ""
	changed := image.GetUpdateOptions()
	changed.Label, changed.Description = image.Label+"-b", &without
	check("UpdateImage, with no description left",
		func() (*linodego.Image, error) { return client.UpdateImage(ctx, image.ID, changed) },
		func(i *linodego.Image) error {
			return require(i.Label == changed.Label && i.Description == "" && i.Size == image.Size, "%s", asJSON(i))
		})
	again, err := client.GetImage(ctx, image.ID)
	if err == nil {
		_, err = client.UpdateImage(ctx, image.ID, again.GetUpdateOptions())
	}
	report("UpdateImage with everything that GetImage gave", err, "accepted")
	_, err = other.GetImage(ctx, image.ID)
	report("another account's image: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	_, missing := other.GetImage(ctx, "private/2000000000")
	report("and the same words as for no image at all", sameRefusal(err, missing), fmt.Sprint(missing))
	report("DeleteImage", client.DeleteImage(ctx, image.ID), "accepted")
	_, err = client.GetImage(ctx, image.ID)
	report("after DeleteImage: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}

func refusedUpload(ctx context.Context, client *linodego.Client) {
	image, err := client.UploadImage(ctx, linodego.ImageUploadOptions{
		Region: os.Getenv("REGION"), Label: os.Getenv("LABEL") + "-c", Image: bytes.NewReader([]byte("This is no disk.")),
	})
	report("UploadImage of what is no disk", err, "accepted: the data are judged later")
	if err != nil {
		return
	}
	check("WaitForEventFinished gives the failed event, with its reason",
		func() (*linodego.Event, error) {
			event, err := client.WaitForEventFinished(ctx, numberOf(image), linodego.EntityImage, linodego.ActionImageUpload, *image.Created, waitSeconds)
			if event != nil && event.Status == linodego.EventFailed {
				return event, nil
			}
			return event, err
		},
		func(e *linodego.Event) error {
			return require(e.Status == linodego.EventFailed && e.Message != "", "%s", asJSON(e))
		})
	report("DeleteImage of what failed", client.DeleteImage(ctx, image.ID), "accepted")
}

func capture(ctx context.Context, client *linodego.Client) {
	// Its label is sent empty when none is chosen.
	image, ok := check("CreateImage from a disk, with the disk's label",
		func() (*linodego.Image, error) {
			return client.CreateImage(ctx, linodego.ImageCreateOptions{DiskID: number("MACHINE_DISK")})
		},
		func(i *linodego.Image) error {
			return require(i.Status == linodego.ImageStatusCreating && i.Label != "", "%s", asJSON(i))
		})
	if !ok {
		return
	}
	// The client has another name for the type, and compares them.
	event, err := client.WaitForEventFinished(ctx, number("MACHINE"), linodego.EntityType("compute"), linodego.ActionDiskImagize, *image.Created, waitSeconds)
	if err == nil {
		err = require(event.SecondaryEntity != nil && event.SecondaryEntity.URL == "/v4/images/"+image.ID, "%s", asJSON(event))
	}
	report("WaitForEventFinished disk_imagize of the instance", err, "finished")
	check("WaitForImageStatus of what was captured",
		func() (*linodego.Image, error) {
			return client.WaitForImageStatus(ctx, image.ID, linodego.ImageStatusAvailable, waitSeconds)
		},
		func(i *linodego.Image) error { return require(i.Size > 0, "%s", asJSON(i)) })
	report("DeleteImage of what was captured", client.DeleteImage(ctx, image.ID), "accepted")
	_, err = client.CreateImage(ctx, linodego.ImageCreateOptions{DiskID: 2_000_000_000})
	report("CreateImage from a disk that is nobody's is 400", require(linodego.ErrHasStatus(err, 400), "%v", err), fmt.Sprint(err))
}
