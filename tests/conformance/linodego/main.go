// The day of a tenant, through linodego as it is published. One JSON line per check; the reader counts them.
//
//	LINODE_URL, LINODE_API_VERSION, LINODE_TOKEN  as linodego itself reads them
//	OTHER_TOKEN                                   a token of another account
//	REGION, TYPE, ENGINE, LABEL                   what to create
//	IMAGE_FILE, IMAGE_MB, MACHINE, MACHINE_DISK   a disk to upload, and one to capture
//	ACCOUNT_TOKEN, INVOICE, COMPUTE, OTHER_COMPUTE  an account whose money is looked at, and what it has
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/linode/linodego"
)

const waitSeconds = 180

type line struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
}

func report(name string, err error, found string) {
	if err != nil {
		found = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(line{name, err == nil, found})
}

// check prints what came of one call; `judge` says what is wrong with an answer that arrived.
func check[T any](name string, call func() (T, error), judge func(T) error) (T, bool) {
	answer, err := call()
	if err == nil {
		err = judge(answer)
	}
	report(name, err, fmt.Sprintf("%.160s", asJSON(answer)))
	return answer, err == nil
}

func asJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func require(holds bool, text string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(text, values...)
}

func clientWith(token string) *linodego.Client {
	client := linodego.NewClient(nil)
	client.SetToken(token).SetPollDelay(500 * time.Millisecond)
	return &client
}

func filterBy(field string, value any, more ...any) *linodego.ListOptions {
	filter := linodego.Filter{}
	filter.AddField(linodego.Eq, field, value)
	for at := 0; at+1 < len(more); at += 2 {
		filter.AddField(linodego.Eq, fmt.Sprint(more[at]), more[at+1])
	}
	text, _ := filter.MarshalJSON()
	return linodego.NewListOptions(0, string(text))
}

func main() {
	ctx := context.Background()
	client := clientWith(os.Getenv("LINODE_TOKEN"))
	catalogue(ctx, client)
	identity(ctx, client, clientWith(os.Getenv("OTHER_TOKEN")))
	account(ctx, clientWith(os.Getenv("OTHER_TOKEN")))
	images(ctx, client, clientWith(os.Getenv("OTHER_TOKEN")))
	database, ok := create(ctx, client)
	if !ok {
		os.Exit(1)
	}
	read(ctx, client, database)
	events(ctx, client, database)
	foreign(ctx, clientWith(os.Getenv("OTHER_TOKEN")), database)
	remove(ctx, client, database)
}

func catalogue(ctx context.Context, client *linodego.Client) {
	engine, plan, region := os.Getenv("ENGINE"), os.Getenv("TYPE"), os.Getenv("REGION")
	check("ListDatabaseEngines has the engine",
		func() ([]linodego.DatabaseEngine, error) { return client.ListDatabaseEngines(ctx, nil) },
		func(found []linodego.DatabaseEngine) error {
			return require(slices.ContainsFunc(found, func(e linodego.DatabaseEngine) bool { return e.ID == engine }), "no %s", engine)
		})
	check("GetDatabaseEngine by an id with a slash",
		func() (*linodego.DatabaseEngine, error) { return client.GetDatabaseEngine(ctx, nil, engine) },
		func(found *linodego.DatabaseEngine) error {
			return require(found.ID == engine, "another engine: %s", found.ID)
		})
	check("ListDatabaseTypes has the type, with a price",
		func() ([]linodego.DatabaseType, error) { return client.ListDatabaseTypes(ctx, nil) },
		func(found []linodego.DatabaseType) error {
			return require(slices.ContainsFunc(found, func(t linodego.DatabaseType) bool { return t.ID == plan && len(t.Engines.MySQL) > 0 }), "no %s", plan)
		})
	check("GetDatabaseType",
		func() (*linodego.DatabaseType, error) { return client.GetDatabaseType(ctx, nil, plan) },
		func(found *linodego.DatabaseType) error {
			return require(found.ID == plan && found.Memory > 0, "not whole")
		})
	check("ListTypes (the alias /linode/types)",
		func() ([]linodego.LinodeType, error) { return client.ListTypes(ctx, nil) },
		func(found []linodego.LinodeType) error { return require(len(found) > 0, "none") })
	check("ListTypes past the end is an empty page",
		func() ([]linodego.LinodeType, error) { return client.ListTypes(ctx, linodego.NewListOptions(100, "")) },
		func(found []linodego.LinodeType) error { return require(len(found) == 0, "%d types", len(found)) })
	check("ListRegions has the region, which offers databases",
		func() ([]linodego.Region, error) { return client.ListRegions(ctx, nil) },
		func(found []linodego.Region) error {
			return require(slices.ContainsFunc(found, func(r linodego.Region) bool {
				return r.ID == region && slices.Contains(r.Capabilities, linodego.CapabilityDBAAS)
			}), "no %s", region)
		})
}

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
	// Something of another kind can have the same number.
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
	report("and the same words as for none at all", require(fmt.Sprint(err) == fmt.Sprint(missing), "%v, %v", err, missing), fmt.Sprint(missing))
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
