package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/linode/linodego"
)

func create(ctx context.Context, client *linodego.Client) (*linodego.MySQLDatabase, bool) {
	poller, _ := client.NewEventPollerWithoutEntity(linodego.EntityDatabase, linodego.ActionDatabaseCreate)
	wanted := linodego.MySQLCreateOptions{
		Label: os.Getenv("LABEL"), Region: os.Getenv("REGION"), Type: os.Getenv("TYPE"), Engine: os.Getenv("ENGINE"),
		AllowList: []string{"192.0.2.1/32"}, ClusterSize: 1,
	}
	database, ok := check("CreateMySQLDatabase",
		func() (*linodego.MySQLDatabase, error) { return client.CreateMySQLDatabase(ctx, wanted) },
		func(d *linodego.MySQLDatabase) error {
			return require(d.ID > 0 && d.Label == wanted.Label && d.Created != nil && d.Status == linodego.DatabaseStatusProvisioning, "not as asked: %s", asJSON(d))
		})
	if !ok {
		return nil, false
	}
	poller.EntityID = database.ID
	err := client.WaitForDatabaseStatus(ctx, database.ID, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	report("WaitForDatabaseStatus active", err, "active")
	check("EventPoller.WaitForFinished database_create",
		func() (*linodego.Event, error) { return poller.WaitForFinished(ctx, waitSeconds) },
		func(e *linodego.Event) error {
			return require(e.Created != nil && e.Entity != nil, "not whole: %s", asJSON(e))
		})
	return database, err == nil
}

func read(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase) {
	check("GetMySQLDatabase has its port and allow list",
		func() (*linodego.MySQLDatabase, error) { return client.GetMySQLDatabase(ctx, database.ID) },
		func(d *linodego.MySQLDatabase) error {
			return require(d.Status == linodego.DatabaseStatusActive && d.Port > 0 && slices.Equal(d.AllowList, []string{"192.0.2.1/32"}), "%s", asJSON(d))
		})
	check("ListMySQLDatabases by label is that one",
		func() ([]linodego.MySQLDatabase, error) {
			return client.ListMySQLDatabases(ctx, filterBy("label", database.Label))
		},
		func(found []linodego.MySQLDatabase) error {
			return require(len(found) == 1 && found[0].ID == database.ID, "%d", len(found))
		})
	check("ListDatabases by label is that one, with instance_uri",
		func() ([]linodego.Database, error) {
			return client.ListDatabases(ctx, filterBy("label", database.Label))
		},
		func(found []linodego.Database) error {
			uri := fmt.Sprintf("/v4/databases/mysql/instances/%d", database.ID)
			return require(len(found) == 1 && found[0].InstanceURI == uri, "%s", asJSON(found))
		})
	check("ListDatabases by a label that is nobody's is empty",
		func() ([]linodego.Database, error) {
			return client.ListDatabases(ctx, filterBy("label", "no-such-label"))
		},
		func(found []linodego.Database) error { return require(len(found) == 0, "%d", len(found)) })
	_, err := client.ListDatabases(ctx, filterBy("password", "x"))
	report("a filter on an unknown field is 400", require(linodego.ErrHasStatus(err, 400), "%v", err), fmt.Sprint(err))
	credentials, err := client.GetMySQLDatabaseCredentials(ctx, database.ID)
	if err == nil {
		err = require(credentials.Username != "" && len(credentials.Password) >= 16, "not whole")
	}
	report("GetMySQLDatabaseCredentials", err, "a name and a password")
}

func events(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase) {
	// An object of another kind can have the same number.
	mine := filterBy("entity.id", database.ID, "entity.type", "database")
	found, ok := check("ListEvents of this database",
		func() ([]linodego.Event, error) { return client.ListEvents(ctx, mine) },
		func(found []linodego.Event) error {
			return require(len(found) == 1 && found[0].Action == linodego.ActionDatabaseCreate && found[0].Status == linodego.EventFinished && !found[0].Seen, "%s", asJSON(found))
		})
	if !ok {
		return
	}
	event := &found[0]
	read, err := client.GetEvent(ctx, event.ID)
	if err == nil {
		err = errors.Join(client.MarkEventRead(ctx, read), client.MarkEventsSeen(ctx, read))
	}
	report("MarkEventRead and MarkEventsSeen", err, "accepted")
	check("GetEvent shows it read and seen",
		func() (*linodego.Event, error) { return client.GetEvent(ctx, event.ID) },
		func(e *linodego.Event) error { return require(e.Read && e.Seen, "read %t, seen %t", e.Read, e.Seen) })
}

func foreign(ctx context.Context, other *linodego.Client, database *linodego.MySQLDatabase) {
	_, err := other.GetMySQLDatabase(ctx, database.ID)
	report("another account's database: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	_, missing := other.GetMySQLDatabase(ctx, 2_000_000_000)
	report("and the same words as for none at all", sameRefusal(err, missing), fmt.Sprint(missing))
	err = other.DeleteMySQLDatabase(ctx, database.ID)
	report("another account cannot delete it: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}

func remove(ctx context.Context, client *linodego.Client, database *linodego.MySQLDatabase) {
	poller, err := client.NewEventPoller(ctx, database.ID, linodego.EntityDatabase, linodego.ActionDatabaseDelete)
	if err == nil {
		err = client.DeleteMySQLDatabase(ctx, database.ID)
	}
	report("DeleteMySQLDatabase", err, "accepted")
	if err != nil {
		return
	}
	check("EventPoller.WaitForFinished database_delete",
		func() (*linodego.Event, error) { return poller.WaitForFinished(ctx, waitSeconds) },
		func(e *linodego.Event) error { return require(e.Status == linodego.EventFinished, "%s", e.Status) })
	_, err = client.GetMySQLDatabase(ctx, database.ID)
	report("after the deletion: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}
