// A tenant's operations with the published linodego. One JSON line per check; the reader counts them. With the argument
// `terraform`: the Terraform provider's sequence of calls instead. Its inputs are environment variables: see
// `client-things.ts`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/linode/linodego"
)

const waitSeconds = 900

type line struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	// The operation that this version breaks in its own code.
	Breaks string `json:"breaks,omitempty"`
}

func report(name string, err error, found string) {
	if err != nil {
		found = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(line{Check: name, OK: err == nil, Found: found})
}

// check prints the result of one call; `judge` returns what is wrong with an answer that arrived.
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

var ids = regexp.MustCompile(`[0-9]{4,}`)

// sameRefusal: the texts differ in nothing but the requested id.
func sameRefusal(hidden, missing error) error {
	is, want := ids.ReplaceAllString(fmt.Sprint(hidden), "ID"), ids.ReplaceAllString(fmt.Sprint(missing), "ID")
	return require(is == want, "%v, %v", hidden, missing)
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
	client, other := clientWith(os.Getenv("LINODE_TOKEN")), clientWith(os.Getenv("OTHER_TOKEN"))
	if len(os.Args) > 1 && os.Args[1] == "terraform" {
		terraform(ctx, client)
		return
	}
	catalogue(ctx, client)
	identity(ctx, client, other)
	account(ctx, client, other)
	images(ctx, client, other)
	database, ok := create(ctx, client)
	if !ok {
		os.Exit(1)
	}
	read(ctx, client, database)
	events(ctx, client, database)
	foreign(ctx, other, database)
	admit(ctx, client, database)
	states(ctx, client, database)
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
	_, err := client.GetType(ctx, plan)
	report("GetType", err, plan)
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
	check("GetRegion",
		func() (*linodego.Region, error) { return client.GetRegion(ctx, region) },
		func(r *linodego.Region) error { return require(r.ID == region && r.Status == "ok", "%s", asJSON(r)) })
}
