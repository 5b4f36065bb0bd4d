/** The tenant's side of the command line, over HTTP. Called as a function: a process for each line would be slower. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { texts as connectTexts } from "@moorage/cli/connect/texts";
import { texts as loginTexts } from "@moorage/cli/login/texts";
import { texts as profileTexts } from "@moorage/cli/profiles/texts";
import { texts as tenantTexts } from "@moorage/cli/tenant/texts";
import { texts } from "@moorage/cli/texts";
import type { MysqlDatabase } from "@moorage/contract";
import { expect, test } from "vitest";
import { databaseFixture } from "./testing/active-database.ts";
import { hasBackup } from "./testing/archive-records.ts";
import { served } from "./testing/served.ts";
import { terminalWith } from "./testing/terminal.ts";
import { ENGINE, newWorld, PLAN, REGION } from "./testing/world.ts";

test("a tenant signs in, follows each next step, creates a database, waits for it and finds it again", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token, username } = await world.customer();
  using terminal = terminalWith({});

  expect((await terminal.type("")).stdout).toContain("Next: Sign in: moorage login");
  expect((await terminal.type("db list")).stderr).toContain("moorage login --url");
  const wrong = await terminal.type(`login --token --url ${api.url}`, "0123");
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("Invalid Token") });
  const signedIn = await terminal.type(`login --token --url ${api.url}`, token);
  expect(signedIn.stdout).toContain(`You are signed in as ${username} at ${api.url}, with the profile default.`);
  expect((await terminal.type("")).stdout).toContain(`Next: ${tenantTexts.nextCreate().text}`);

  const nothing = await terminal.type("db create --label shop");
  expect(nothing.code).toBe(1);
  expect(nothing.stderr).toContain("--region  the id of a region; see: moorage region list");
  const createOptions = `--label shop --region ${REGION} --type ${PLAN} --engine ${ENGINE} --allow-list 192.0.2.7`;
  const made = terminal.type(`db create ${createOptions} --allow-list 2001:db8::/32 --wait`);
  await expect
    .poll(() =>
      world.db.updateTable("events").set({ status: "finished" }).where("status", "=", "started").executeTakeFirst(),
    )
    .toMatchObject({ numUpdatedRows: 1n });
  expect((await made).stdout).toMatch(/\nallow_list +192\.0\.2\.7, 2001:db8::\/32\n/);
  expect((await terminal.type("db list --filter label~ho --order-by label")).stdout).toMatch(
    /^ID +LABEL .*\n\d+ +shop /,
  );
  expect((await terminal.type("db list --filter status=failed")).stdout).toBe(`${tenantTexts.noMatch().text}\n`);
  expect(await terminal.json("db show shop")).toMatchObject({ label: "shop", cluster_size: 1, status: "provisioning" });
  expect((await terminal.type("")).stdout).toContain(tenantTexts.nextProvisioning({ label: "shop" }).text);
});

test("an error names the typed options, and a failed event ends a waiting command with its reason", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: token });
  const createOptions = `--region ${REGION} --type ${PLAN} --engine ${ENGINE}`;

  const refused = await terminal.type(`db create --label x --cluster-size 2 ${createOptions}`);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("--label: label must be a valid value: 3 to 32 characters");
  expect(refused.stderr).toContain("--cluster-size: cluster_size must be a valid value: 1 or 3");
  const forPrograms = await terminal.type(`db create --label x ${createOptions} --json`);
  expect(forPrograms).toMatchObject({ code: 1, stdout: "" });
  expect(JSON.parse(forPrograms.stderr)).toEqual({
    errors: [{ field: "label", reason: expect.stringContaining("3 to 32 characters") }],
  });
  expect((await terminal.type("db list --filter colour=red")).stderr).toContain("Fields: label, type");
  expect((await terminal.type("db list --order-by colour")).stderr).toContain("Allowed choices are label");
  expect((await terminal.type("db update nobody --label other")).stderr).toBe(
    `${tenantTexts.labelUnknown({ label: "nobody", listCommand: "moorage db list" }).text}\n`,
  );
  expect((await terminal.type("db create --cluster-size many")).stderr).toContain(tenantTexts.numberInvalid().text);

  const failing = terminal.type(`db create --label shop ${createOptions} --wait`);
  const failed = { status: "failed" as const, message: "No host has room." };
  await expect
    .poll(() => world.db.updateTable("events").set(failed).where("status", "=", "started").executeTakeFirst())
    .toMatchObject({ numUpdatedRows: 1n });
  expect(await failing).toMatchObject({ code: 1, stderr: `${texts.operationFailed(failed).text}\n` });
});

test("every kind of value reaches the API: nested fields, null, empty lists, JSON, secrets from a file", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token, accountId } = await world.customer();
  const colleague = await world.colleague(accountId, { restricted: true });
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: token });

  await terminal.type("account update --country DE --zip 20457 --city Hamburg");
  expect(await terminal.json("account show")).toMatchObject({ country: "DE", city: "Hamburg" });
  const grants = await terminal.type([
    "user",
    "grants",
    "update",
    colleague.username,
    "--global.add-databases",
    "--global.account-access",
    "null",
    "--body",
    '{"global": {"add_images": true}}',
    "--json",
  ]);
  expect(grants.stderr).toBe("");
  expect(JSON.parse(grants.stdout)).toMatchObject({
    global: { add_databases: true, add_images: true, account_access: null },
  });

  const card = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2049 };
  const typed = await terminal.type("payment-method create --type credit_card --is-default");
  expect(typed.stderr).toContain("data.card_number  14 to 24 digits");
  expect(typed.stderr).toContain("--body @file");
  expect((await terminal.type("payment-method create --data.cvv 123")).stderr).toContain("unknown option");
  const piped = await terminal.type(
    "payment-method create --type credit_card --is-default --body -",
    JSON.stringify({ data: card }),
  );
  expect(piped).toMatchObject({ code: 0, stdout: "Done.\n" });
  expect((await terminal.type("payment-method list")).stdout).toMatch(/credit_card/);
});

test("a token is stored in the system's keychain, or in a file that only its owner can read", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const [alice, bob] = [await world.customer(), await world.customer()];
  using plain = terminalWith({ PATH: "/nowhere" });
  const stdout = (await plain.type(`login --token --url ${api.url}`, alice.token)).stdout;
  const file = join(plain.home, ".config/moorage/profiles.json");
  expect(stdout).toContain(loginTexts.tokenInFile({ file }).text);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  using terminal = terminalWith({});
  const tools = join(terminal.home, "bin");
  using kept = terminalWith({ PATH: `${tools}:${process.env["PATH"]}` });
  secretTool(tools);
  await kept.type(`login --token --url ${api.url}`, alice.token);
  expect((await kept.type(`login --token --url ${api.url} --profile other`, bob.token)).stdout).toContain("keychain");
  expect(readFileSync(join(kept.home, ".config/moorage/profiles.json"), "utf8")).not.toContain(bob.token);
  expect((await kept.type("profile list")).stdout).toMatch(/other .* in the keychain +yes\n/);
  expect(await kept.json("me show")).toMatchObject({ username: bob.username });
  expect(await kept.json("me show --profile default")).toMatchObject({ username: alice.username });
  await kept.type("profile use default");
  expect(await kept.json("me show")).toMatchObject({ username: alice.username });
  await kept.type("logout");
  expect((await kept.type("me show")).stderr).toContain("You are not signed in.");
});

/** Like libsecret's: reads a secret from standard input, and finds it by its attributes. */
function secretTool(folder: string): void {
  mkdirSync(folder);
  const script = [
    "#!/bin/sh",
    `cd ${folder}`,
    'verb=$1; for name; do :; done; file="kept-$name"',
    'case $verb in store) cat >"$file" ;; lookup) cat "$file" ;; clear) rm "$file" ;; esac',
  ];
  writeFileSync(join(folder, "secret-tool"), `${script.join("\n")}\n`);
  chmodSync(join(folder, "secret-tool"), 0o755);
}

test("connect opens mysql with host, port, user and authority, and passes the password secretly", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("databases").set({ dns_published_at: world.clock() }).execute();
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: alice.token });
  const seen = join(terminal.home, "seen");
  const mysql = join(terminal.home, "mysql");
  const script = [
    '[ "$1" = --version ] && echo "mysql  Ver 9.7.4" && exit',
    `{ printf '%s\\n' "$@"; env; for f in "$@"; do case $f in --ssl-ca=*) cat "\${f#*=}" ;; esac; done; } >${seen}`,
    `cat "$MYSQL_TEST_LOGIN_FILE" >${seen}.login`,
    "exit 7",
  ];
  writeFileSync(mysql, `#!/bin/sh\n${script.join("\n")}\n`);
  chmodSync(mysql, 0o755);
  const { body: credentials } = await alice.get<{ password: string }>(`${database.url}/credentials`);
  const { body: shown } = await alice.get<MysqlDatabase>(database.url);

  const opened = await terminal.type(["db", "connect", database.label, "--mysql", mysql, "--", "-e", "SELECT 1"]);
  expect(opened).toMatchObject({ code: 7, stderr: "" });

  const recorded = readFileSync(seen, "utf8");
  expect(recorded).toContain(`--host=${shown.hosts.primary}\n--port=${shown.port}\n--user=dbadmin\n`);
  expect(recorded).toContain("--ssl-mode=VERIFY_IDENTITY\n");
  expect(recorded).toContain("\n-e\nSELECT 1\n");
  expect(recorded).toContain(world.databaseCa.certificate.trim());
  expect(recorded).not.toContain(credentials.password);
  expect(statSync(`${seen}.login`).size).toBeGreaterThan(24);
  expect(() => statSync(/--ssl-ca=(.*)/.exec(recorded)?.[1] ?? "")).toThrow("ENOENT");
  expect((await terminal.type(["db", "connect", database.label, "--mysql", "/nowhere"])).stderr).toContain(
    "cannot be started",
  );
});

test("lists and objects show useful columns, and only existing fields can be chosen", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: alice.token });
  const firstLine = async (line: string) => (await terminal.type(line)).stdout.split("\n")[0];

  expect(await firstLine("db type list")).toMatch(/^ID +LABEL +VCPUS +MEMORY MB +DISK MB +1 NODE PER MONTH/);
  expect((await terminal.type("event list")).stdout).toMatch(
    new RegExp(`^ID +CREATED +ACTION +ENTITY.TYPE +ENTITY.LABEL .*\\n.* database_create +database +${database.label} `),
  );
  expect(await firstLine("me token list")).toMatch(/^ID +LABEL +SCOPES +CREATED +EXPIRY +TOKEN$/);
  expect((await terminal.type(`db show ${database.label} --columns label,status,hosts.primary`)).stdout).toMatch(
    new RegExp(`^label +${database.label}\\nstatus +active\\nhosts.primary `),
  );
  for (const line of ["db list --columns nope", `db show ${database.label} --columns label,nope`]) {
    const refused = await terminal.type(line);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^--columns nope: unknown field\. Valid fields: id, label, .*hosts\.primary/);
  }
});

test("help lists a tenant's commands, with real defaults and no constant fields", async () => {
  using terminal = terminalWith({});

  const help = (await terminal.type("--help")).stdout;
  expect(help).not.toMatch(/\n {2}(host|plan|tax|recover) /);
  expect(help).toMatch(/For operators of an installation:\n {2}admin /);
  const create = (await terminal.type("db create --help")).stdout;
  expect(create).toMatch(/--encrypted \[true\|false\] +true or false \(default: false\)/);
  expect(create).not.toContain("preset");
  const update = (await terminal.type("db update --help")).stdout;
  expect(update).toContain("--allow-list");
  for (const never of [
    "--engine",
    "--region",
    "--cluster-size",
    "--encrypted",
    "--ssl-connection",
    "--replication-type",
  ])
    expect(update).not.toContain(`${never} `);
  expect((await terminal.type("db metrics show 1 cpu")).stderr).toContain(
    "Allowed choices are connections, threads_running",
  );
});

test("a database is deleted only after typing its label, or with --yes", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: alice.token });
  const isThere = async () => (await alice.get(database.url)).status === 200;

  const unconfirmed = await terminal.type(`db delete ${database.label}`);
  expect(unconfirmed).toMatchObject({ code: 1, stderr: expect.stringContaining("add --yes") });
  expect(await terminal.type(`db delete ${database.label}`, "no")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(tenantTexts.notConfirmed().text),
  });
  expect(await isThere()).toBe(true);
  const confirmed = await terminal.type(`db delete ${database.label}`, database.label);
  expect(confirmed).toMatchObject({ code: 0, stderr: expect.stringContaining(`Type ${database.label} to continue`) });
  expect(await isThere()).toBe(false);
});

test("a backup is found by its label, and after waiting it is shown with its id", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: alice.token });

  const made = terminal.type(`db backup create ${database.label} --label before-release --wait`);
  const started = () => world.db.selectFrom("events").select("id").where("status", "=", "started").execute();
  await expect.poll(started).toHaveLength(1);
  const { id } = await hasBackup(world, database, "snapshot");
  await world.db.updateTable("backups").set({ label: "before-release" }).execute();
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  await world.db.updateTable("events").set({ status: "finished" }).execute();

  expect((await made).stdout).toMatch(new RegExp(`^id +${id}\\n[\\s\\S]*label +before-release\\n`));
  expect(await terminal.json(`db backup show ${database.label} before-release`)).toMatchObject({ id });
  expect((await terminal.type(`db backup show ${database.label} nothing`)).stderr).toContain(
    "Nothing has the label nothing.",
  );
  expect(await terminal.type(`db backup restore ${database.label} before-release`)).toMatchObject({
    code: 0,
    stderr: "",
  });
});

test("connect refuses a database without a running server, and prints what to do", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("databases").set({ dns_published_at: world.clock(), status: "suspended" }).execute();
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: alice.token });

  expect(await terminal.type(`db connect ${database.label} --mysql /nowhere`)).toMatchObject({
    code: 1,
    stderr: `${connectTexts.suspended({ label: database.label }).text}\n`,
  });
});

test("unknown fields are reported on standard error, and a misspelled known field is refused", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  using terminal = terminalWith({ MOORAGE_URL: api.url, MOORAGE_TOKEN: token });
  const create = (label: string, change: object) =>
    terminal.type([
      "db",
      "create",
      "--body",
      JSON.stringify({ label, region: REGION, type: PLAN, engine: ENGINE, ...change }),
    ]);

  const made = await create("shop", { colour: "red" });
  const refused = await create("other", { encrpyted: true });

  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nlabel +shop\n/) });
  expect(made.stderr).toBe(`${profileTexts.fieldsIgnored({ fields: "colour" }).text}\n`);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Did you mean `encrypted`?") });
});
