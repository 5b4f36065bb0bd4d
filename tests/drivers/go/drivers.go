// Package drivers names what the Go example of docs/tenants needs, so that `go mod vendor` brings it.
package drivers

import _ "github.com/go-sql-driver/mysql"
