// Package drivers names the dependencies of the Go example in docs/tenants, so that `go mod vendor` includes them.
package drivers

import _ "github.com/go-sql-driver/mysql"
