//go:build newest

package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/linode/linodego"
)

const generation = 3

func wantedByTerraform(base linodego.MySQLCreateOptions) linodego.MySQLCreateOptions {
	var none *string
	base.EngineConfig = &linodego.MySQLDatabaseEngineConfig{MySQL: &linodego.MySQLDatabaseEngineConfigMySQL{InnoDBFTServerStopwordTable: &none}}
	return base
}

// This version has no calls for them.
func backups(context.Context, *linodego.Client, *linodego.MySQLDatabase, *door) {}

// This version expects the unit price as a string, where the interface has a number.
func invoiceItems(ctx context.Context, client *linodego.Client, id int) {
	_, err := client.ListInvoiceItems(ctx, id, nil)
	if err == nil {
		report("ListInvoiceItems is known to break", require(false, "it works"), "")
		return
	}
	_ = json.NewEncoder(os.Stdout).Encode(line{Check: "ListInvoiceItems breaks as is known", OK: true, Found: err.Error(), Breaks: "listInvoiceItems"})
}
