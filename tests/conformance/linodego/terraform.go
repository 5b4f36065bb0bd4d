package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/linode/linodego"
)

// The attributes of a configuration, as the provider keeps them in its state.
type attributes struct {
	Label, Region, Type, EngineID string
	ClusterSize, ForkSource       int
	ForkRestoreTime               string
	AllowList                     []string
	Updates                       linodego.DatabaseMaintenanceWindow
}

// The provider identifies an engine by its major version.
func engineID(engine, version string) string {
	return engine + "/" + strings.Split(version, ".")[0]
}

// The computed attributes: a refresh that changes nothing reads the same values.
type computed struct {
	Host, Status, Username, Password, CA string
	Port                                 int
}

// The Terraform provider's sequence of calls, with the client that it is built on: see `interface-decisions`, 0 and 11.
func terraform(ctx context.Context, client *linodego.Client) {
	ping(ctx, client)
	wanted := attributes{
		Label: os.Getenv("LABEL") + "-tf", Region: os.Getenv("REGION"), Type: os.Getenv("TYPE"), EngineID: majorOf(os.Getenv("ENGINE")),
		ClusterSize: 1, AllowList: []string{"192.0.2.1", "198.51.100.0/24"},
		Updates: linodego.DatabaseMaintenanceWindow{DayOfWeek: 3, Duration: 2, Frequency: "weekly", HourOfDay: 4},
	}
	id, ok := applyFirst(ctx, client, wanted)
	if !ok {
		return
	}
	first := refresh(ctx, client, "create", id, wanted)
	again := refresh(ctx, client, "refresh", id, wanted)
	report("refresh reads the same again", require(first != nil && reflect.DeepEqual(first, again), "another"), "the same")
	imported := refresh(ctx, client, "import by the id alone", id, wanted)
	report("import reads what create left", require(reflect.DeepEqual(first, imported), "another"), "the same")
	wanted.Label, wanted.AllowList = wanted.Label+"-b", []string{"203.0.113.0/24", "2001:db8::/32"}
	apply(ctx, client, "update of label and allow list", id, false, linodego.MySQLUpdateOptions{Label: wanted.Label, AllowList: &wanted.AllowList})
	refresh(ctx, client, "update", id, wanted)
	wanted.Type = os.Getenv("BIGGER_TYPE")
	apply(ctx, client, "resize", id, true, linodego.MySQLUpdateOptions{Type: wanted.Type})
	refresh(ctx, client, "resize", id, wanted)
	if generation == 3 {
		suspension(ctx, client, id)
		refresh(ctx, client, "resume", id, wanted)
	}
	forkResource(ctx, client, id, wanted)
	dataSources(ctx, client)
	imageResource(ctx, client)
	ping(ctx, client)
	destroy(ctx, client, id)
}

func majorOf(id string) string {
	engine, version, _ := strings.Cut(id, "/")
	return engineID(engine, version)
}

// A fork as of a time: the provider compares what it sent with what it reads, and another source or time would replace
// the database.
func forkResource(ctx context.Context, client *linodego.Client, source int, wanted attributes) {
	at := time.Now().UTC().Add(-2 * time.Second).Truncate(time.Second)
	wanted.Label, wanted.Type = wanted.Label+"-f", os.Getenv("TYPE")
	wanted.ForkSource, wanted.ForkRestoreTime = source, at.Format(time.RFC3339)
	id, ok := applyFirst(ctx, client, wanted)
	if !ok {
		return
	}
	refresh(ctx, client, "fork", id, wanted)
	destroy(ctx, client, id)
}

// Every run begins with it, and ends if the answer is an error.
func ping(ctx context.Context, client *linodego.Client) {
	check("ping: types past the end are an empty page",
		func() ([]linodego.LinodeType, error) { return client.ListTypes(ctx, linodego.NewListOptions(100, "")) },
		func(found []linodego.LinodeType) error { return require(len(found) == 0, "%d", len(found)) })
}

func applyFirst(ctx context.Context, client *linodego.Client, wanted attributes) (int, bool) {
	poller, err := client.NewEventPollerWithoutEntity(linodego.EntityDatabase, linodego.ActionDatabaseCreate)
	if err != nil {
		report("create: a poller", err, "")
		return 0, false
	}
	options := wantedByTerraform(linodego.MySQLCreateOptions{
		Label: wanted.Label, Region: wanted.Region, Type: wanted.Type, Engine: wanted.EngineID,
		ClusterSize: wanted.ClusterSize, AllowList: wanted.AllowList,
	})
	if wanted.ForkSource != 0 {
		at, _ := time.Parse(time.RFC3339, wanted.ForkRestoreTime)
		options.Fork = &linodego.DatabaseFork{Source: wanted.ForkSource, RestoreTime: &at}
	}
	database, err := client.CreateMySQLDatabase(ctx, options)
	report("create", err, "accepted")
	if err != nil {
		return 0, false
	}
	poller.EntityID = database.ID
	event, err := poller.WaitForFinished(ctx, waitSeconds)
	report("create: its waiter is ended by our event database_create", err, asJSON(event))
	if err != nil {
		return database.ID, false
	}
	err = client.WaitForDatabaseStatus(ctx, database.ID, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	report("create: active", err, "active")
	return database.ID, apply(ctx, client, "create: updates", database.ID, false, linodego.MySQLUpdateOptions{Updates: &wanted.Updates})
}

// The second generation waits for an event since the database was created, the third for one that it did not know.
func apply(ctx context.Context, client *linodego.Client, name string, id int, resizes bool, change linodego.MySQLUpdateOptions) bool {
	actions := []linodego.EventAction{linodego.ActionDatabaseUpdate}
	if resizes && generation == 3 {
		actions = append(actions, linodego.ActionDatabaseResize)
	}
	var pollers []*linodego.EventPoller
	for _, action := range actions {
		poller, err := client.NewEventPoller(ctx, id, linodego.EntityDatabase, action)
		if err != nil {
			report(name+": a poller", err, "")
			return false
		}
		pollers = append(pollers, poller)
	}
	changed, err := client.UpdateMySQLDatabase(ctx, id, change)
	report(name, err, "accepted")
	if err != nil {
		return false
	}
	for at, action := range actions {
		var event *linodego.Event
		if generation == 2 {
			event, err = client.WaitForEventFinished(ctx, id, linodego.EntityDatabase, action, *changed.Created, waitSeconds)
		} else {
			event, err = pollers[at].WaitForFinished(ctx, waitSeconds)
		}
		report(fmt.Sprintf("%s: its waiter is ended by our event %s", name, action), err, asJSON(event))
	}
	err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	report(name+": active", err, "active")
	return err == nil
}

// GET, /ssl and /credentials: an error in any of them fails the plan, and so does a value other than the configured
// one.
func refresh(ctx context.Context, client *linodego.Client, after string, id int, wanted attributes) *computed {
	database, err := client.GetMySQLDatabase(ctx, id)
	if err != nil {
		report(after+": refresh", err, "")
		return nil
	}
	ssl, sslErr := client.GetMySQLDatabaseSSL(ctx, id)
	credentials, err := client.GetMySQLDatabaseCredentials(ctx, id)
	if err != nil || sslErr != nil {
		report(after+": refresh", fmt.Errorf("%v, %v", sslErr, err), "")
		return nil
	}
	read, err := flatten(database)
	if err != nil {
		report(after+": refresh", err, "")
		return nil
	}
	report(after+": no diff", require(asJSON(read) == asJSON(wanted), "%s instead of %s", asJSON(read), asJSON(wanted)), asJSON(read))
	return &computed{
		Host: database.Hosts.Primary, Port: database.Port, Status: string(database.Status), CA: string(ssl.CACertificate),
		Username: credentials.Username, Password: credentials.Password,
	}
}

// As the provider reads an answer: it dereferences `engine_config.mysql`, and crashes if that is missing.
func flatten(database *linodego.MySQLDatabase) (read attributes, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the provider would crash: %v", fault)
		}
	}()
	if settings := *database.EngineConfig.MySQL; settings.SQLMode != nil {
		return read, fmt.Errorf("a setting that nobody set: %s", *settings.SQLMode)
	}
	read = attributes{
		Label: database.Label, Region: database.Region, Type: database.Type, EngineID: engineID(database.Engine, database.Version),
		ClusterSize: database.ClusterSize, AllowList: database.AllowList, Updates: database.Updates,
	}
	if database.Fork != nil {
		read.ForkSource = database.Fork.Source
		if database.Fork.RestoreTime != nil {
			read.ForkRestoreTime = database.Fork.RestoreTime.Format(time.RFC3339)
		}
	}
	return read, nil
}

func suspension(ctx context.Context, client *linodego.Client, id int) {
	err := client.SuspendMySQLDatabase(ctx, id)
	if err == nil {
		err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusSuspended, waitSeconds)
	}
	report("suspended = true", err, "suspended")
	if err == nil {
		err = client.ResumeMySQLDatabase(ctx, id)
	}
	if err == nil {
		err = client.WaitForDatabaseStatus(ctx, id, linodego.DatabaseEngineTypeMySQL, linodego.DatabaseStatusActive, waitSeconds)
	}
	report("suspended = false", err, "active")
}

func destroy(ctx context.Context, client *linodego.Client, id int) {
	poller, err := client.NewEventPoller(ctx, id, linodego.EntityDatabase, linodego.ActionDatabaseDelete)
	if err == nil {
		err = client.DeleteMySQLDatabase(ctx, id)
	}
	report("destroy", err, "accepted")
	if err != nil {
		return
	}
	event, err := poller.WaitForFinished(ctx, waitSeconds)
	report("destroy: ended by our event database_delete", err, asJSON(event))
	_, err = client.GetMySQLDatabase(ctx, id)
	report("destroy: the next refresh finds nothing", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}
