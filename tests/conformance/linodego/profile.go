package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/linode/linodego"
)

// LOGIN is a login of the acting user.
func logins(ctx context.Context, client *linodego.Client) {
	login := number("LOGIN")
	_, err := client.ListLogins(ctx, nil)
	report("ListLogins", err, "a list")
	check("GetLogin",
		func() (*linodego.Login, error) { return client.GetLogin(ctx, login) },
		func(l *linodego.Login) error { return require(l.ID == login && l.Datetime != nil, "%s", asJSON(l)) })
	_, err = client.ListProfileLogins(ctx, nil)
	report("ListProfileLogins", err, "a list")
	check("GetProfileLogin",
		func() (*linodego.ProfileLogin, error) { return client.GetProfileLogin(ctx, login) },
		func(l *linodego.ProfileLogin) error {
			return require(l.ID == login && l.Status == "successful", "%s", asJSON(l))
		})
}

// APP is an app that this user authorized.
func apps(ctx context.Context, client *linodego.Client) {
	app := number("APP")
	check("ListProfileApps has the app",
		func() ([]linodego.ProfileApp, error) { return client.ListProfileApps(ctx, nil) },
		func(found []linodego.ProfileApp) error { return require(len(found) == 1, "%s", asJSON(found)) })
	check("GetProfileApp",
		func() (*linodego.ProfileApp, error) { return client.GetProfileApp(ctx, app) },
		func(a *linodego.ProfileApp) error {
			return require(a.ID == app && a.Scopes == "events:read_only" && a.Expiry != nil, "%s", asJSON(a))
		})
	report("DeleteProfileApp", client.DeleteProfileApp(ctx, app), "accepted")
	_, err := client.GetProfileApp(ctx, app)
	report("after the deletion of the app: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}

func preferences(ctx context.Context, client *linodego.Client) {
	_, err := client.UpdateProfilePreferences(ctx, linodego.ProfilePreferences{"theme": "dark"})
	report("UpdateProfilePreferences", err, "accepted")
	check("GetProfilePreferences",
		func() (*linodego.ProfilePreferences, error) { return client.GetProfilePreferences(ctx) },
		func(p *linodego.ProfilePreferences) error { return require((*p)["theme"] == "dark", "%s", asJSON(p)) })
	_, err = client.GrantsList(ctx)
	report("GrantsList of an unrestricted user: an empty answer", err, "none")
}

func secondFactor(ctx context.Context, client *linodego.Client) {
	secret, ok := check("CreateTwoFactorSecret",
		func() (*linodego.TwoFactorSecret, error) { return client.CreateTwoFactorSecret(ctx) },
		func(s *linodego.TwoFactorSecret) error {
			return require(s.Secret != "" && s.Expiry != nil, "not whole")
		})
	if !ok {
		return
	}
	check("ConfirmTwoFactor",
		func() (*linodego.ConfirmTwoFactorResponse, error) {
			return client.ConfirmTwoFactor(ctx, linodego.ConfirmTwoFactorOptions{TFACode: codeOf(secret.Secret)})
		},
		func(r *linodego.ConfirmTwoFactorResponse) error { return require(r.Scratch != "", "no scratch code") })
	report("DisableTwoFactor", client.DisableTwoFactor(ctx), "accepted")
}

// The code of an authenticator app: RFC 6238.
func codeOf(secret string) string {
	key, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(secret, "="))
	var step [8]byte
	binary.BigEndian.PutUint64(step[:], uint64(time.Now().Unix()/30))
	mac := hmac.New(sha1.New, key)
	mac.Write(step[:])
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}
