"""The day of a tenant, through linode_api4 as it is published. What it needs is in the environment: `client-things.ts`."""

from linode_api4 import LinodeClient, Region, Type
from linode_api4.objects import DatabaseEngine, DatabaseType

import account
import database
import identity
import images
from report import check, given, unless


def catalogue(client):
    engine, plan, region = given("ENGINE"), given("TYPE"), given("REGION")
    has = lambda wanted: lambda found: unless(wanted in [each.id for each in found], [each.id for each in found])
    check("database.engines has the engine", lambda: client.database.engines(DatabaseEngine.engine == "mysql"), has(engine))
    check("load DatabaseEngine by an id with a slash", lambda: client.load(DatabaseEngine, engine).version,
          lambda version: unless(engine == f"mysql/{version}", version))
    check("database.types has the type", client.database.types, has(plan))
    # `load` of it fails in the client's own code; the object that loads itself works.
    check("DatabaseType", lambda: DatabaseType(client, plan).memory, lambda mb: unless(mb > 0, mb))
    check("linode.types (the alias /linode/types)", client.linode.types, has(plan))
    check("load Type", lambda: client.load(Type, plan).memory, lambda mb: unless(mb > 0, mb))
    check("regions has the region", client.regions, has(region))
    check("load Region", lambda: client.load(Region, region).capabilities,
          lambda found: unless("Managed Databases" in found, found))


def main():
    at = lambda token: LinodeClient(token, base_url=f"{given('LINODE_URL')}/v4")
    client, other = at(given("LINODE_TOKEN")), at(given("OTHER_TOKEN"))
    catalogue(client)
    identity.day(client, other)
    account.day(client, other)
    images.day(client, other)
    database.day(client, other)


main()
