package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/linode/linodego"
)

// How a tenant reaches its database.
type door struct {
	host, username, password, ca string
	port                         int
}

func doorOf(ctx context.Context, client *linodego.Client, id int) (*door, error) {
	database, err := client.GetMySQLDatabase(ctx, id)
	if err != nil {
		return nil, err
	}
	credentials, err := client.GetMySQLDatabaseCredentials(ctx, id)
	if err != nil {
		return nil, err
	}
	ssl, err := client.GetMySQLDatabaseSSL(ctx, id)
	if err != nil {
		return nil, err
	}
	ca := filepath.Join(os.Getenv("FOLDER"), fmt.Sprintf("ca-%d.pem", id))
	return &door{
		host: database.Hosts.Primary, port: database.Port, ca: ca,
		username: credentials.Username, password: credentials.Password,
	}, os.WriteFile(ca, ssl.CACertificate, 0o600)
}

// One statement with the real client on the tenant's machine, which verifies the server.
func (d *door) ask(statement string) (string, error) {
	words := strings.Fields(os.Getenv("MYSQL"))
	arguments := append(words[1:], "-N", "-B", "-h", d.host, "-P", fmt.Sprint(d.port), "-u", d.username,
		"--ssl-mode=VERIFY_IDENTITY", "--ssl-ca="+d.ca, "--connect-timeout=60", "-e", statement)
	command := exec.Command(words[0], arguments...)
	command.Env = append(os.Environ(), "MYSQL_PWD="+d.password)
	said, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%s", failed.Stderr)
	}
	return strings.TrimSpace(string(said)), err
}

func reaches(name string, d *door, statement, wanted string) {
	check(name,
		func() (string, error) { return d.ask(statement) },
		func(said string) error { return require(said == wanted, "%s", said) })
}
