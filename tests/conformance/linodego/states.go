package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/linode/linodego"
)

// Waits as this client does: for a new event of this kind, and then for the expected status of the database.
func done(ctx context.Context, client *linodego.Client, name string, id int, action linodego.EventAction, status linodego.DatabaseStatus, act func() error) bool {
	poller, err := client.NewEventPoller(ctx, id, linodego.EntityDatabase, action)
	if err == nil {
		err = act()
	}
	if err == nil {
		_, err = poller.WaitForFinished(ctx, waitSeconds)
	}
	if err == nil {
		err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, status, waitSeconds)
	}
	report(name, err, string(status))
	return err == nil
}

// CLIENT_ADDRESS is the address of the tenant's machine.
func admit(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase) {
	list := []string{os.Getenv("CLIENT_ADDRESS")}
	ok := done(ctx, client, "UpdateMySQLDatabase of the allow list, and its event", database.ID, linodego.ActionDatabaseUpdate, linodego.DatabaseStatusActive, func() error {
		_, err := client.UpdateMySQLDatabase(ctx, database.ID, linodego.MySQLUpdateOptions{AllowList: &list})
		return err
	})
	check("GetMySQLDatabase shows the list",
		func() (*linodego.MySQLDatabase, error) { return client.GetMySQLDatabase(ctx, database.ID) },
		func(d *linodego.MySQLDatabase) error {
			return require(slices.Equal(d.AllowList, list), "%s", asJSON(d))
		})
	opened, err := doorOf(ctx, client, database.ID)
	report("GetMySQLDatabaseCredentials and GetMySQLDatabaseSSL", err, "a way in")
	if err != nil || !ok {
		return
	}
	reaches("mysql with that user, password and CA", opened, "SELECT 1", "1")
	backups(ctx, client, database, opened)
}

func states(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase) {
	id := database.ID
	before, err := client.GetMySQLDatabaseCredentials(ctx, id)
	if err == nil {
		err = client.ResetMySQLDatabaseCredentials(ctx, id)
	}
	report("ResetMySQLDatabaseCredentials", err, "accepted")
	if err == nil {
		err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	}
	if err == nil {
		var after *linodego.MySQLDatabaseCredential
		if after, err = client.GetMySQLDatabaseCredentials(ctx, id); err == nil {
			err = require(after.Password != before.Password, "the same password")
		}
	}
	report("GetMySQLDatabaseCredentials has another password", err, "another")
	if opened, err := doorOf(ctx, client, id); err == nil {
		reaches("mysql with the new password", opened, "SELECT 1", "1")
	} else {
		report("the new password", err, "")
	}
	done(ctx, client, "PatchMySQLDatabase, and its event", id, linodego.ActionDatabaseUpdate, linodego.DatabaseStatusActive,
		func() error { return client.PatchMySQLDatabase(ctx, id) })
	done(ctx, client, "SuspendMySQLDatabase, and its event", id, linodego.ActionDatabaseUpdate, linodego.DatabaseStatusSuspended,
		func() error { return client.SuspendMySQLDatabase(ctx, id) })
	_, err = client.GetMySQLDatabase(ctx, id)
	report("GetMySQLDatabase while it is suspended", err, fmt.Sprint(err))
	done(ctx, client, "ResumeMySQLDatabase, and its event", id, linodego.ActionDatabaseUpdate, linodego.DatabaseStatusActive,
		func() error { return client.ResumeMySQLDatabase(ctx, id) })
}
