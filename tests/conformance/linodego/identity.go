package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/linode/linodego"
)

// Users, grants, tokens and OAuth clients of a tenant, each created, read, changed and deleted.
func identity(ctx context.Context, client, other *linodego.Client) {
	profile(ctx, client)
	users(ctx, client, other)
	tokens(ctx, client, other)
	oauthClients(ctx, client, other)
}

func profile(ctx context.Context, client *linodego.Client) {
	own, ok := check("GetProfile",
		func() (*linodego.Profile, error) { return client.GetProfile(ctx) },
		func(p *linodego.Profile) error {
			return require(p.UID > 0 && p.Username != "" && p.Email != "", "not whole: %s", asJSON(p))
		})
	if !ok {
		return
	}
	// It sends every field back to change one.
	check("UpdateProfile with everything that GetProfile gave",
		func() (*linodego.Profile, error) { return client.UpdateProfile(ctx, own.GetUpdateOptions()) },
		func(p *linodego.Profile) error {
			return require(p.Email == own.Email && p.Timezone == own.Timezone && p.Restricted == own.Restricted, "%s", asJSON(p))
		})
	logins(ctx, client)
	apps(ctx, client)
	preferences(ctx, client)
	secondFactor(ctx, client)
}

func users(ctx context.Context, client, other *linodego.Client) {
	name := os.Getenv("LABEL") + "-u"
	_, ok := check("CreateUser, restricted",
		func() (*linodego.User, error) {
			return client.CreateUser(ctx, linodego.UserCreateOptions{Username: name, Email: name + "@go.test", Restricted: true})
		},
		func(u *linodego.User) error {
			return require(u.Username == name && u.Restricted && !u.TFAEnabled && u.LastLogin == nil, "%s", asJSON(u))
		})
	if !ok {
		return
	}
	check("ListUsers by name is that one",
		func() ([]linodego.User, error) { return client.ListUsers(ctx, filterBy("username", name)) },
		func(found []linodego.User) error { return require(len(found) == 1, "%d", len(found)) })
	check("GetUserGrants of a new user: none",
		func() (*linodego.UserGrants, error) { return client.GetUserGrants(ctx, name) },
		func(g *linodego.UserGrants) error {
			return require(g.Global.AccountAccess == nil && !g.Global.AddDatabases, "%s", asJSON(g))
		})
	reading := linodego.AccessLevelReadOnly
	check("UpdateUserGrants",
		func() (*linodego.UserGrants, error) {
			return client.UpdateUserGrants(ctx, name, linodego.UserGrantsUpdateOptions{
				Global: linodego.GlobalUserGrants{AccountAccess: &reading, AddDatabases: true},
			})
		},
		func(g *linodego.UserGrants) error {
			return require(g.Global.AccountAccess != nil && *g.Global.AccountAccess == reading && g.Global.AddDatabases && !g.Global.AddImages, "%s", asJSON(g))
		})
	everything := false
	check("UpdateUser to an unrestricted one of another name",
		func() (*linodego.User, error) {
			return client.UpdateUser(ctx, name, linodego.UserUpdateOptions{Username: name + "-b", Restricted: &everything})
		},
		func(u *linodego.User) error {
			return require(u.Username == name+"-b" && !u.Restricted, "%s", asJSON(u))
		})
	_, err := client.GetUserGrants(ctx, name+"-b")
	report("GetUserGrants of an unrestricted user: an empty answer", err, "none")
	_, err = other.GetUser(ctx, name+"-b")
	report("another account's user: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	check("GetUser",
		func() (*linodego.User, error) { return client.GetUser(ctx, name+"-b") },
		func(u *linodego.User) error { return require(u.Username == name+"-b", "%s", asJSON(u)) })
	report("DeleteUser", client.DeleteUser(ctx, name+"-b"), "accepted")
	_, err = client.GetUser(ctx, name+"-b")
	report("after the deletion of the user: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}

func tokens(ctx context.Context, client, other *linodego.Client) {
	label := os.Getenv("LABEL")
	token, ok := check("CreateToken, with fewer scopes",
		func() (*linodego.Token, error) {
			return client.CreateToken(ctx, linodego.TokenCreateOptions{Label: label, Scopes: "events:read_only"})
		},
		func(t *linodego.Token) error {
			return require(len(t.Token) == 64 && t.Scopes == "events:read_only" && t.Created != nil && t.Expiry == nil, "not whole")
		})
	if !ok {
		return
	}
	little := clientWith(token.Token)
	_, err := little.ListEvents(ctx, nil)
	report("the new token lists events", err, "a list")
	_, err = little.ListMySQLDatabases(ctx, nil)
	report("and is refused beyond its scopes, 401", require(linodego.ErrHasStatus(err, 401), "%v", err), fmt.Sprint(err))
	check("GetToken shows its first 16 characters",
		func() (*linodego.Token, error) { return client.GetToken(ctx, token.ID) },
		func(t *linodego.Token) error {
			return require(t.Token == token.Token[:16], "%d characters", len(t.Token))
		})
	check("UpdateToken",
		func() (*linodego.Token, error) {
			return client.UpdateToken(ctx, token.ID, linodego.TokenUpdateOptions{Label: label + "-b"})
		},
		func(t *linodego.Token) error { return require(t.Label == label+"-b", "%s", t.Label) })
	check("ListTokens has it",
		func() ([]linodego.Token, error) { return client.ListTokens(ctx, nil) },
		func(found []linodego.Token) error {
			return require(slices.ContainsFunc(found, func(t linodego.Token) bool { return t.ID == token.ID }), "not among %d", len(found))
		})
	_, err = other.GetToken(ctx, token.ID)
	report("another's token: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	report("DeleteToken", client.DeleteToken(ctx, token.ID), "accepted")
	_, err = little.GetProfile(ctx)
	report("the deleted token is 401", require(linodego.ErrHasStatus(err, 401), "%v", err), fmt.Sprint(err))
}

func oauthClients(ctx context.Context, client, other *linodego.Client) {
	wanted := linodego.OAuthClientCreateOptions{Label: os.Getenv("LABEL"), RedirectURI: "https://go.test/back", Public: true}
	made, ok := check("CreateOAuthClient, public",
		func() (*linodego.OAuthClient, error) { return client.CreateOAuthClient(ctx, wanted) },
		func(c *linodego.OAuthClient) error {
			return require(len(c.ID) == 20 && len(c.Secret) == 64 && c.Public && c.Status == linodego.OAuthClientActive && c.ThumbnailURL == nil, "not whole")
		})
	if !ok {
		return
	}
	check("ListOAuthClients by label is that one, without its secret",
		func() ([]linodego.OAuthClient, error) {
			return client.ListOAuthClients(ctx, filterBy("label", wanted.Label))
		},
		func(found []linodego.OAuthClient) error {
			return require(len(found) == 1 && found[0].ID == made.ID && found[0].Secret == "<REDACTED>", "%d", len(found))
		})
	changed := made.GetUpdateOptions()
	changed.Label += "-b"
	check("UpdateOAuthClient",
		func() (*linodego.OAuthClient, error) { return client.UpdateOAuthClient(ctx, made.ID, changed) },
		func(c *linodego.OAuthClient) error {
			return require(c.Label == changed.Label && c.RedirectURI == wanted.RedirectURI && c.Public, "%s", asJSON(c))
		})
	_, err := other.GetOAuthClient(ctx, made.ID)
	report("another account's OAuth client: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	check("ResetOAuthClientSecret gives another secret",
		func() (*linodego.OAuthClient, error) { return client.ResetOAuthClientSecret(ctx, made.ID) },
		func(c *linodego.OAuthClient) error {
			return require(len(c.Secret) == 64 && c.Secret != made.Secret, "%d characters", len(c.Secret))
		})
	check("GetOAuthClient shows no secret",
		func() (*linodego.OAuthClient, error) { return client.GetOAuthClient(ctx, made.ID) },
		func(c *linodego.OAuthClient) error { return require(c.Secret == "<REDACTED>", "%s", asJSON(c)) })
	report("DeleteOAuthClient", client.DeleteOAuthClient(ctx, made.ID), "accepted")
	_, err = client.GetOAuthClient(ctx, made.ID)
	report("after the deletion of the client: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
}
