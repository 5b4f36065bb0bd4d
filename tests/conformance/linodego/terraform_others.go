package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/linode/linodego"
)

// Data sources send an empty `+and`, and `+order` without `+order_by`.
func dataSources(ctx context.Context, client *linodego.Client) {
	all := linodego.NewListOptions(0, `{"+and":[],"+order":"desc"}`)
	mysql := linodego.NewListOptions(0, `{"+and":[{"+or":[{"engine":"mysql"}]}],"+order":"desc"}`)
	lists := []struct {
		name string
		ask  func() (int, error)
	}{
		{"database_engines, filtered", count(func() ([]linodego.DatabaseEngine, error) { return client.ListDatabaseEngines(ctx, mysql) })},
		{"databases", count(func() ([]linodego.Database, error) { return client.ListDatabases(ctx, all) })},
		{"database_mysql list", count(func() ([]linodego.MySQLDatabase, error) { return client.ListMySQLDatabases(ctx, all) })},
		{"users", count(func() ([]linodego.User, error) { return client.ListUsers(ctx, all) })},
		{"account_logins", count(func() ([]linodego.Login, error) { return client.ListLogins(ctx, nil) })},
		{"account_availabilities", count(func() ([]linodego.AccountAvailability, error) { return client.ListAccountAvailabilities(ctx, nil) })},
		{"regions", count(func() ([]linodego.Region, error) { return client.ListRegions(ctx, all) })},
		{"tokens", count(func() ([]linodego.Token, error) { return client.ListTokens(ctx, all) })},
	}
	for _, list := range lists {
		found, err := list.ask()
		if err == nil {
			err = require(found > 0, "none")
		}
		report("data source "+list.name, err, fmt.Sprint(found))
	}
	_, err := client.ListImages(ctx, all)
	report("data source images", err, "a list")
	_, err = client.GetAccount(ctx)
	report("data source account", err, "an account")
	_, err = client.GetAccountSettings(ctx)
	report("data source account_settings", err, "settings")
	_, err = client.GetProfile(ctx)
	report("data source profile", err, "a profile")
}

func count[T any](ask func() ([]T, error)) func() (int, error) {
	return func() (int, error) {
		found, err := ask()
		return len(found), err
	}
}

// An image from a file, and one from a disk.
func imageResource(ctx context.Context, client *linodego.Client) {
	data, err := os.ReadFile(os.Getenv("IMAGE_FILE"))
	if err != nil {
		report("IMAGE_FILE", err, "")
		return
	}
	label := os.Getenv("LABEL") + "-tf"
	image, address, err := client.CreateImageUpload(ctx, linodego.ImageCreateUploadOptions{Label: label, Description: "By Terraform", Region: os.Getenv("REGION")})
	if err == nil {
		err = client.UploadImageToURL(ctx, address, bytes.NewReader(data))
	}
	report("image: upload", err, "accepted")
	if err != nil {
		return
	}
	_, err = client.WaitForImageStatus(ctx, image.ID, linodego.ImageStatusAvailable, waitSeconds)
	report("image: its waiter ends", err, "available")
	same := func(i *linodego.Image) error {
		return require(i.Label == label && i.Description == "By Terraform" && i.Size == number("IMAGE_MB"), "%s", asJSON(i))
	}
	check("image: no diff", func() (*linodego.Image, error) { return client.GetImage(ctx, image.ID) }, same)
	label += "-b"
	if _, err = client.UpdateImage(ctx, image.ID, linodego.ImageUpdateOptions{Label: label, Description: &image.Description}); err != nil {
		report("image: update", err, "")
	}
	check("image: no diff after the update", func() (*linodego.Image, error) { return client.GetImage(ctx, image.ID) }, same)
	report("image: destroy", client.DeleteImage(ctx, image.ID), "accepted")
	capturedResource(ctx, client)
}

func capturedResource(ctx context.Context, client *linodego.Client) {
	machine, disk := number("MACHINE"), number("MACHINE_DISK")
	_, err := client.WaitForInstanceDiskStatus(ctx, machine, disk, linodego.DiskReady, waitSeconds)
	report("captured image: the disk is ready", err, "ready")
	image, err := client.CreateImage(ctx, linodego.ImageCreateOptions{DiskID: disk, Label: os.Getenv("LABEL") + "-disk", Description: "Captured"})
	report("captured image: create", err, "accepted")
	if err != nil {
		return
	}
	_, err = client.WaitForInstanceDiskStatus(ctx, machine, disk, linodego.DiskReady, waitSeconds)
	report("captured image: the disk is ready again", err, "ready")
	check("captured image: its waiter ends",
		func() (*linodego.Image, error) {
			return client.WaitForImageStatus(ctx, image.ID, linodego.ImageStatusAvailable, waitSeconds)
		},
		func(i *linodego.Image) error { return require(i.Description == "Captured", "%s", asJSON(i)) })
	report("captured image: destroy", client.DeleteImage(ctx, image.ID), "accepted")
}
