//go:build !newest

package main

import (
	"context"

	"github.com/linode/linodego"
)

// The provider's releases of this time create databases with these fields.
const generation = 2

func wantedByTerraform(base linodego.MySQLCreateOptions) linodego.MySQLCreateOptions {
	base.ReplicationType, base.SSLConnection = "none", true
	return base
}

func backups(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase, opened *door) {
	id := database.ID
	reaches("a row before the snapshot", opened, "CREATE DATABASE day; CREATE TABLE day.kept (id INT PRIMARY KEY); INSERT INTO day.kept VALUES (1); SELECT 1", "1")
	err := client.CreateMySQLDatabaseBackup(ctx, id, linodego.MySQLBackupCreateOptions{Label: "day", Target: linodego.MySQLDatabaseTargetPrimary})
	report("CreateMySQLDatabaseBackup", err, "accepted")
	if err != nil {
		return
	}
	made, ok := check("WaitForMySQLDatabaseBackup",
		func() (*linodego.MySQLDatabaseBackup, error) {
			return client.WaitForMySQLDatabaseBackup(ctx, id, "day", waitSeconds)
		},
		func(b *linodego.MySQLDatabaseBackup) error {
			return require(b.Type == "snapshot" && b.Created != nil, "%s", asJSON(b))
		})
	if !ok {
		return
	}
	check("ListMySQLDatabaseBackups has it alone",
		func() ([]linodego.MySQLDatabaseBackup, error) { return client.ListMySQLDatabaseBackups(ctx, id, nil) },
		func(found []linodego.MySQLDatabaseBackup) error {
			return require(len(found) == 1 && found[0].ID == made.ID, "%s", asJSON(found))
		})
	check("GetMySQLDatabaseBackup",
		func() (*linodego.MySQLDatabaseBackup, error) { return client.GetMySQLDatabaseBackup(ctx, id, made.ID) },
		func(b *linodego.MySQLDatabaseBackup) error { return require(b.Label == "day", "%s", asJSON(b)) })
	err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	report("WaitForDatabaseStatus active after the snapshot", err, "active")
	reaches("a row after the snapshot", opened, "INSERT INTO day.kept VALUES (2); SELECT COUNT(*) FROM day.kept", "2")
	done(ctx, client, "RestoreMySQLDatabaseBackup, and its event", id, linodego.ActionDatabaseBackupRestore, linodego.DatabaseStatusActive,
		func() error { return client.RestoreMySQLDatabaseBackup(ctx, id, made.ID) })
	reaches("the row of before is there, and no other", opened, "SELECT GROUP_CONCAT(id) FROM day.kept", "1")
}

func invoiceItems(ctx context.Context, client *linodego.Client, id int) {
	check("ListInvoiceItems",
		func() ([]linodego.InvoiceItem, error) { return client.ListInvoiceItems(ctx, id, nil) },
		func(found []linodego.InvoiceItem) error {
			return require(len(found) == 1 && found[0].Quantity == 500 && found[0].From != nil && found[0].Region != nil, "%s", asJSON(found))
		})
}
