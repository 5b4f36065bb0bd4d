"""Users, tokens, OAuth clients and what a person keeps for itself."""

import base64
import hashlib
import hmac
import struct
import time
import zlib

from linode_api4 import Login, OAuthClient, PersonalAccessToken, User
from linode_api4.objects import AuthorizedApp, ProfileLogin

from report import breaks, check, given, number, refused, unless


def day(client, other):
    profile(client)
    logins_and_apps(client)
    users(client)
    tokens(client, other)
    oauth_clients(client, other)


def profile(client):
    own = check("profile", client.profile, lambda p: unless(p.username and p.email, p.username))
    if own is None:
        return
    own.timezone = "Europe/Berlin"
    check("Profile.save with every field", own.save, lambda saved: unless(saved, saved))
    check("profile shows it", lambda: client.profile().timezone, lambda zone: unless(zone == "Europe/Berlin", zone))
    check("Profile.grants of an unrestricted user: none", lambda: own.grants, lambda grants: unless(grants is None, grants))
    check("profile.user_preferences_update", lambda: client.profile.user_preferences_update(theme="dark"))
    check("profile.user_preferences", lambda: client.profile.user_preferences().theme, lambda t: unless(t == "dark", t))
    secret = check("Profile.enable_tfa", own.enable_tfa, lambda s: unless(len(s) > 10, "short"))
    if secret is not None:
        check("Profile.confirm_tfa", lambda: own.confirm_tfa(code_of(secret)))
        check("Profile.disable_tfa", own.disable_tfa)


def code_of(secret):
    """As an authenticator app makes it: RFC 6238."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at:at + 4])[0] & 0x7FFFFFFF) % 1_000_000:06d}"


def logins_and_apps(client):
    login, app = number("LOGIN"), number("APP")
    check("account.logins", lambda: [each.id for each in client.account.logins()], lambda ids: unless(login in ids, ids))
    check("load Login", lambda: client.load(Login, login).status, lambda status: unless(status == "successful", status))
    # The client's path lacks the first slash, so it requests /v4profile/logins.
    breaks("listLogins", lambda: list(client.profile.logins()))
    breaks("viewLogin", lambda: client.load(ProfileLogin, login).status)
    check("profile.apps", lambda: [each.id for each in client.profile.apps()], lambda ids: unless(ids == [app], ids))
    seen = check("load AuthorizedApp", lambda: client.load(AuthorizedApp, app),
                 lambda a: unless(a.scopes == "events:read_only", a.scopes))
    if seen is not None:
        check("AuthorizedApp.delete", seen.delete)


def users(client):
    name = given("LABEL") + "-u"
    made = check("account.user_create", lambda: client.account.user_create(f"{name}@py.test", name, restricted=True),
                 lambda u: unless(u.username == name and u.restricted, u.username))
    if made is None:
        return
    check("account.users by name", lambda: list(client.account.users(User.username == name)), lambda f: unless(len(f) == 1, f))
    check("load User", lambda: client.load(User, name).restricted, lambda restricted: unless(restricted, restricted))
    grants = check("User.grants of a new user: none", lambda: made.grants,
                   lambda g: unless(g.global_grants.account_access is None, g.global_grants.account_access))
    if grants is not None:
        grants.global_grants.add_databases = True
        check("UserGrants.save", grants.save)
        check("User.grants shows it", lambda: client.load(User, name).grants.global_grants.add_databases,
              lambda granted: unless(granted, granted))
    made.restricted = False
    check("User.save", made.save, lambda saved: unless(saved, saved))
    check("User.delete", made.delete)
    refused("load User of what is gone is 404", lambda: client.load(User, name), 404)


def tokens(client, other):
    made = check("profile.token_create", lambda: client.profile.token_create(label="py", scopes="events:read_only"),
                 lambda t: unless(len(t.token) == 64 and t.scopes == "events:read_only", t.scopes))
    if made is None:
        return
    start = made.token[:16]
    check("profile.tokens", lambda: [each.id for each in client.profile.tokens()], lambda ids: unless(made.id in ids, ids))
    check("load PersonalAccessToken shows 16 characters", lambda: client.load(PersonalAccessToken, made.id).token,
          lambda token: unless(token == start, len(token)))
    made.label = "py-b"
    check("PersonalAccessToken.save", made.save, lambda saved: unless(saved, saved))
    refused("another's token is 404", lambda: other.load(PersonalAccessToken, made.id), 404)
    check("PersonalAccessToken.delete", made.delete)


def oauth_clients(client, other):
    made = check("account.oauth_client_create", lambda: client.account.oauth_client_create("py", "https://py.test/back"),
                 lambda c: unless(len(c.secret) == 64 and c.status == "active", c.status))
    if made is None:
        return
    first = made.secret
    check("account.oauth_clients by label", lambda: list(client.account.oauth_clients(OAuthClient.label == "py")),
          lambda found: unless([c.id for c in found] == [made.id] and found[0].secret == "<REDACTED>", found))
    check("OAuthClient.reset_secret (by another name of the path)", made.reset_secret,
          lambda secret: unless(len(secret) == 64 and secret != first, "the same"))
    check("OAuthClient.set_thumbnail (two slashes, and the scheme `token`)", lambda: made.set_thumbnail(picture()))
    check("OAuthClient.thumbnail", made.thumbnail, lambda png: unless(png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]))
    made.label = "py-b"
    check("OAuthClient.save", made.save, lambda saved: unless(saved, saved))
    check("load OAuthClient", lambda: client.load(OAuthClient, made.id).label, lambda label: unless(label == "py-b", label))
    refused("another account's OAuth client is 404", lambda: other.load(OAuthClient, made.id), 404)
    check("OAuthClient.delete", made.delete)


def picture():
    """A grey square of 128 pixels."""
    chunk = lambda kind, data: (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    )
    rows = b"".join(b"\0" + b"\x80" * 128 for _ in range(128))
    header = struct.pack(">IIBBBBB", 128, 128, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
