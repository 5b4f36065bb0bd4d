"""A database, from its creation to its end, by the client's own event poller."""

import base64
import os
import subprocess

from linode_api4 import Event, MySQLDatabase

from report import check, failed, given, refused, unless

WAIT_SECONDS = 900


def day(client, other):
    made = create(client)
    read(client, made)
    events(client, made)
    refused("another account's database is 404", lambda: other.load(MySQLDatabase, made.id), 404)
    admit(client, made)
    reset(client, made)
    turn(client, made, "MySQLDatabase.patch", "database_update", lambda db: db.patch())
    turn(client, made, "MySQLDatabase.suspend", "database_update", lambda db: db.suspend(), "suspended")
    turn(client, made, "MySQLDatabase.resume", "database_update", lambda db: db.resume())
    turn(client, made, "MySQLDatabase.delete", "database_delete", lambda db: db.delete(), None)
    refused("after the deletion it is 404", lambda: client.load(MySQLDatabase, made.id), 404)


def create(client):
    poller = client.polling.event_poller_create("database", "database_create")
    made = check(
        "database.mysql_create",
        lambda: client.database.mysql_create(
            given("LABEL"), given("REGION"), given("ENGINE"), given("TYPE"), cluster_size=1, allow_list=["192.0.2.1/32"]
        ),
        lambda db: unless(db.status == "provisioning" and db.label == given("LABEL"), db.status),
    )
    if made is None:
        failed("there is no database to go on with")
    poller.set_entity_id(made.id)
    check("EventPoller database_create", lambda: poller.wait_for_next_event_finished(WAIT_SECONDS, 1).status,
          lambda status: unless(status == "finished", status))
    return made


def read(client, made):
    check("load MySQLDatabase", lambda: client.load(MySQLDatabase, made.id),
          lambda db: unless(db.status == "active" and db.port > 0 and db.allow_list == ["192.0.2.1/32"], db.status))
    check("database.mysql_instances by label", lambda: list(client.database.mysql_instances(MySQLDatabase.label == made.label)),
          lambda found: unless([db.id for db in found] == [made.id], found))
    found = check("database.instances", lambda: [db for db in client.database.instances() if db.id == made.id],
                  lambda dbs: unless(len(dbs) == 1 and dbs[0].instance_uri.endswith(f"/{made.id}"), dbs))
    if found is not None:
        check("Database.instance", lambda: found[0].instance.label, lambda label: unless(label == made.label, label))


def events(client, made):
    mine = check("account.events of this database", lambda: [e for e in client.account.events(Event.action == "database_create") if e.entity.id == made.id],
                 lambda found: unless(len(found) == 1 and not found[0].seen, found))
    if mine is None:
        return
    check("Event.mark_read", mine[0].mark_read)
    check("account.events_mark_seen", lambda: client.account.events_mark_seen(mine[0]))
    check("load Event shows it read and seen", lambda: client.load(Event, mine[0].id), lambda e: unless(e.read and e.seen, e.seen))


def turn(client, made, name, action, act, status="active"):
    """Does it, and waits for the event that tells of its end."""
    poller = client.polling.event_poller_create("database", action, made.id)
    check(name, lambda: act(client.load(MySQLDatabase, made.id)))
    check(f"EventPoller after {name}", lambda: poller.wait_for_next_event_finished(WAIT_SECONDS, 1).status,
          lambda found: unless(found == "finished", found))
    if status is not None:
        check(f"{status} after {name}", lambda: client.load(MySQLDatabase, made.id).status, lambda found: unless(found == status, found))


def admit(client, made):
    def change(db):
        db.allow_list = [given("CLIENT_ADDRESS")]
        return db.save()

    turn(client, made, "MySQLDatabase.save with every field and another allow list", "database_update", change)
    check("load MySQLDatabase shows the list", lambda: client.load(MySQLDatabase, made.id).allow_list,
          lambda found: unless(found == [given("CLIENT_ADDRESS")], found))
    check("MySQLDatabase.credentials and .ssl, and mysql with them", lambda: ask(client, made, "SELECT 1"), lambda said: unless(said == "1", said))
    if hasattr(MySQLDatabase, "backup_create"):
        backups(client, made)


def ask(client, made, statement):
    """One statement by the real client, as the tenant's own machine has it, sure of whom it reached."""
    db = client.load(MySQLDatabase, made.id)
    ca = os.path.join(given("FOLDER"), "ca.pem")
    with open(ca, "wb") as file:
        file.write(base64.b64decode(db.ssl.ca_certificate))
    command = [
        *given("MYSQL").split(), "-N", "-B", "-h", db.hosts.primary, "-P", str(db.port), "-u", db.credentials.username,
        "--ssl-mode=VERIFY_IDENTITY", f"--ssl-ca={ca}", "--connect-timeout=60", "-e", statement,
    ]
    done = subprocess.run(command, env={**os.environ, "MYSQL_PWD": db.credentials.password}, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def backups(client, made):
    rows = "CREATE DATABASE day; CREATE TABLE day.kept (id INT PRIMARY KEY); INSERT INTO day.kept VALUES (1)"
    check("a row before the snapshot", lambda: ask(client, made, rows))
    turn(client, made, "MySQLDatabase.backup_create", "database_backup_create", lambda db: db.backup_create("day"))
    found = check("MySQLDatabase.backups", lambda: list(client.load(MySQLDatabase, made.id).backups),
                  lambda all_of_them: unless([b.label for b in all_of_them] == ["day"], all_of_them))
    if found is None:
        return
    check("load MySQLDatabaseBackup", lambda: found[0]._api_get())
    check("a row after the snapshot", lambda: ask(client, made, "INSERT INTO day.kept VALUES (2)"))
    turn(client, made, "MySQLDatabaseBackup.restore", "database_backup_restore", lambda _: found[0].restore())
    check("the row of before is there, and no other", lambda: ask(client, made, "SELECT GROUP_CONCAT(id) FROM day.kept"),
          lambda said: unless(said == "1", said))
    check("MySQLDatabaseBackup.delete", found[0].delete)


def reset(client, made):
    before = client.load(MySQLDatabase, made.id).credentials.password
    poller = client.polling.event_poller_create("database", "database_credentials_reset", made.id)
    check("MySQLDatabase.credentials_reset", lambda: client.load(MySQLDatabase, made.id).credentials_reset())
    check("EventPoller database_credentials_reset", lambda: poller.wait_for_next_event_finished(WAIT_SECONDS, 1).status)
    check("MySQLDatabase.credentials has another password", lambda: client.load(MySQLDatabase, made.id).credentials.password,
          lambda password: unless(password != before, "the same"))
