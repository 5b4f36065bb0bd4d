/** The operator's command line, over HTTP. tests/system runs it as a separate process. */
import type { AddressInfo } from "node:net";
import { texts as accountTexts } from "@moorage/cli/accounts/texts";
import { texts as auditTexts } from "@moorage/cli/audit/texts";
import { texts as billingTexts } from "@moorage/cli/billing/texts";
import { texts as catalogueTexts } from "@moorage/cli/catalogue/texts";
import { texts as computeTexts } from "@moorage/cli/compute/texts";
import { texts as imageTexts } from "@moorage/cli/images/texts";
import { texts as keyTexts } from "@moorage/cli/keys/texts";
import { texts as tenantTexts } from "@moorage/cli/tenant/texts";
import { texts } from "@moorage/cli/texts";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createLinkJob } from "#chains/index.ts";
import { createLog } from "#platform/log.ts";
import { sha256 } from "#platform/sha256.ts";
import { createPasswordLinks } from "#sign-in/index.ts";
import { databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { availableImage } from "#testing/image-fixture.ts";
import { endMonth, setPrice, used } from "#testing/invoiced.ts";
import { terminalWith } from "#testing/terminal.ts";
import { ARCHIVE, AUTH_URL, newKey, newWorld, type World, ZONE } from "#testing/world.ts";
import { createOperatorApi } from "../api.ts";

const TOKEN = "of-the-operator";

type Outcome = { code: number; stdout: string; stderr: string };

async function startConsole({ db, clock, sealer, images }: World) {
  const operatorTokenSha256 = sha256(TOKEN).toString("hex");
  const settings = { zone: ZONE, archive: ARCHIVE, undeleteDays: 7, restoreDeadlineSeconds: 3600, operatorTokenSha256 };
  const makePasswordLink = createPasswordLinks({ clock, authUrl: AUTH_URL });
  const deps = { db, clock, sealer, images, makePasswordLink, imageServer: undefined, ...settings };
  const api = createOperatorApi(createLog("test", "silent"), deps);
  await api.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`;
  const env = { MOORAGE_ADMIN_URL: url, MOORAGE_OPERATOR_TOKEN: TOKEN };
  const terminal = terminalWith({});
  const type = async (line: string | readonly string[], change: Record<string, string> = {}): Promise<Outcome> => {
    const typed = typeof line === "string" ? `admin ${line}` : ["admin", ...line];
    const { code, stdout, stderr } = await terminal.type(typed, "", { ...env, ...change });
    return { code, stdout, stderr };
  };
  return {
    type,
    json: async <T>(line: string): Promise<T> => JSON.parse((await type(`${line} --json`)).stdout) as T,
    async [Symbol.asyncDispose]() {
      terminal[Symbol.dispose]();
      await api.close();
    },
  };
}

test("an operator creates everything that a tenant needs, and each command prints the next one", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;

  expect((await type("region create us-east --label Newark --country us")).stdout).toContain("moorage admin host add");
  expect(await type("")).toMatchObject({ code: 0, stdout: expect.stringContaining(`Next: ${texts.noHosts().text}`) });
  const host = "--failure-domain r --address 10.9.0.1 --node-network 10.9.16.0/20 --memory-mb 64000 --disk-mb 64000";
  expect((await type(`host add h1 --region us-east ${host} --vcpus 8`)).stdout).toMatch(
    /one-time token within 24 hours:\n[0-9a-f]{64}\n$/,
  );
  expect((await type("")).stdout).toContain(`Next: ${texts.noAccounts().text}`);

  const prices = "--hourly 0.0225 --monthly 15";
  await type(`plan create m1-tiny --label Tiny --memory-mb 512 --disk-mb 5120 --vcpus 1 ${prices}`);
  expect((await type("plan list")).stdout).toMatch(/m1-tiny +Tiny +standard +512 +5120 +1 +0\.0225 +15\.00 +no\n/);
  expect((await type(`engine create mysql/9.7.5 --image ${"c".repeat(64)} --prepared ${"d".repeat(64)}`)).code).toBe(0);
  expect(await json("engine list")).toMatchObject([{ id: "mysql/9.7.4" }, { id: "mysql/9.7.5" }]);

  const limits = "--databases 1 --nodes 3 --memory-mb 4096 --disk-mb 40960";
  const { id } = await json<{ id: number }>(`account create --company Harbour --email o@harbour.example ${limits}`);
  expect((await type(`account set-limits ${id} --databases 4`)).stdout).toContain("4 databases, 3 nodes");
  expect((await type(`account grant-capability ${id}`)).stdout).toBe(
    `Account ${id} has the capabilities: Managed Databases.\n`,
  );
  expect((await type("account list")).stdout).toMatch(/Harbour +o@harbour\.example +0 of 4 .*Managed Databases +-\n/);
  expect((await type(`account revoke-capability ${id}`)).stdout).toContain("capabilities: none.");

  await type(`user create ${id} clerk --email c@harbour.example --restricted`);
  expect((await type(`user list ${id}`)).stdout).toMatch(/clerk +c@harbour\.example +yes/);
  const { token, ...issued } = await json<{ id: number; token: string }>(
    `token create ${id} clerk --label desk --scope databases:read_write events:read_only`,
  );
  const clerk = world.as(token);
  await type(`user grants set ${id} clerk --allow add_databases account_read`);
  await world.host();
  const created = await clerk.create();
  expect(created.status).toBe(200);
  const database = created.body.id;
  expect(
    (await type(`user grants set ${id} clerk --deny account_read --database ${database}=read_only`)).stdout,
  ).toMatch(new RegExp(`whole account: add_databases.\n.*\n${database} .*read_only\n$`));
  expect(await json(`user grants show ${id} clerk`)).toMatchObject({ database: [{ permissions: "read_only" }] });

  const list = await type(`token list ${id}`);
  expect(list.stdout).toContain(token.slice(0, 16));
  expect(list.stdout).not.toContain(token);
  await type(`token revoke ${id} ${issued.id}`);
  expect(await clerk.get("/v4/databases/mysql/instances")).toMatchObject({ status: 401 });
  expect((await type("")).stdout).toContain(texts.installationReady().text);
});

test("an operator sets prices, taxes and credits, and sees them", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const { accountId: id } = await world.customer();

  const later =
    "--hourly 0.025 --monthly 16 --suspended-hourly 0.005 --suspended-monthly 3.2 --from 2099-01-01T00:00:00";
  expect((await type(`plan price m1-small ${later}`)).stdout).toContain(
    "From 2099-01-01T00:00:00 UTC on, plan m1-small costs $0.025 per hour",
  );
  expect((await type("plan prices m1-small")).stdout).toMatch(/2000-01-01.*0\.00 .*\n2099-01-01.* 0\.005 +3\.20\n/);
  expect((await type("tax set ca QST --state QC --percent 9.975")).stdout).toMatch(
    /^The tax QST in QC, CA is 9\.975 % from .* UTC on\.\n$/,
  );
  expect((await type("tax end ca QST --state QC --at 2099-01-01T00:00:00")).stdout).toContain(
    "ends at 2099-01-01T00:00:00",
  );
  expect((await type("tax list")).stdout).toMatch(/CA +QC +QST +9\.975 .*2099-01-01T00:00:00 +no\n/);
  expect((await type(`credit grant ${id} --summary Welcome --credit 30 --monthly-cap 20`)).stdout).toBe(
    `Account ${id} has the credit "Welcome": $30.00 of $30.00 are left, at most $20.00 per month.\n`,
  );
  expect(await json(`credit list ${id}`)).toMatchObject([{ summary: "Welcome", remaining: "30.00" }]);
});

test("a refusal is printed on stderr with a remedy, and the command fails", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { accountId, username } = await world.customer();
  const refusals: [string, string, Record<string, string>?][] = [
    [
      "host list",
      "does not answer (ECONNREFUSED). Check MOORAGE_ADMIN_URL",
      { MOORAGE_ADMIN_URL: "http://127.0.0.1:4" },
    ],
    ["host list", "Check MOORAGE_OPERATOR_TOKEN", { MOORAGE_OPERATOR_TOKEN: "wrong" }],
    ["host list", "MOORAGE_ADMIN_URL is not set", { MOORAGE_ADMIN_URL: "" }],
    ["user list 7", "See: moorage admin account list"],
    [`token revoke ${accountId} 7`, `See: moorage admin token list ${accountId}`],
    [`token create ${accountId} nobody --label x --scope *`, `See: moorage admin user list ${accountId}`],
    [`token create ${accountId} ${username} --label x --scope all`, "such as databases:read_only"],
    [`user grants set ${accountId} ${username} --allow add_images`, `${username} is not restricted`],
    [`user grants set ${accountId} ${username} --allow fly`, "Allowed choices are account_read"],
    [`user grants set ${accountId} ${username} --database 7`, "1025=read_only"],
    [
      `account set-limits ${accountId}`,
      "Name at least one field to change:\n  --databases  maximum number of databases",
    ],
    [`account set-limits ${accountId} --nodes many`, tenantTexts.numberInvalid().text],
    ["host allow-deletions h9 --count 7", "No host is called h9."],
    ["acount list", "Did you mean account?"],
  ];

  for (const [line, words, env] of refusals)
    expect([line, await terminal.type(line, env)]).toEqual([
      line,
      { code: 1, stdout: "", stderr: expect.stringContaining(words) },
    ]);
});

test("an operator finds and undeletes a database, and reads what is not restored", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { alice, host, database } = await databaseFixture(world);
  expect((await terminal.type("db list")).stdout).toContain(database.label);
  expect((await terminal.type("db list --deleted")).stdout).toBe(`${texts.noDeletedDatabases().text}\n`);
  await alice.delete(database.url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  await host.report(await desiredSpec(world), "gone");
  await world.activities.endChange(id, { done: true });

  expect(await terminal.json("db list --deleted")).toMatchObject([{ id: database.id, label: database.label }]);
  const { stdout } = await terminal.type(`db undelete ${database.id}`);

  expect(stdout).toContain(`Database ${database.label} (${database.id})`);
  expect(stdout).toContain("moorage admin user grants set");
  expect((await alice.get(database.url)).body).toMatchObject({ status: "provisioning" });
  expect((await terminal.type("db undelete 12")).stderr).toBe(
    "No database has the id 12. See: moorage admin db list --deleted\n",
  );
});

test("an operator sets a newer image of an engine version, and reads how many databases will get it", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { database } = await databaseFixture(world);
  const newer = "c".repeat(64);

  expect(await terminal.type(`engine image mysql/9.7.4 ${newer}`)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("in their next maintenance windows: 1."),
  });
  expect(await world.databaseRow(database.id)).toMatchObject({ image: "a".repeat(64), patch_due_at: expect.any(Date) });
  expect(await terminal.type(`engine image mysql/1.0 ${newer}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("moorage admin engine list"),
  });
});

test("an operator creates a password link; the audit records it without the link", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { accountId, userId, username } = await world.customer();

  const { stdout } = await terminal.type(`user password-link ${accountId} ${username}`);

  const [link = "", secret = ""] = /https:\/\/login\.moorage\.test\/password\/([0-9a-f]{64})\n$/.exec(stdout) ?? [];
  expect(link).not.toBe("");
  const [kept, ...more] = await world.db.selectFrom("password_links").selectAll().execute();
  expect(more).toEqual([]);
  expect(kept).toMatchObject({ user_id: userId, sha256: sha256(secret) });
  expect(kept?.expires_at.getTime()).toBe(world.time.now.getTime() + 72 * 3_600_000);
  const audit = await world.db.selectFrom("audit").selectAll().where("action", "like", "%password-link").execute();
  expect(audit).toMatchObject([
    { actor: "operator", target: `/admin/accounts/${accountId}/users/${username}/password-link` },
  ]);
  expect(JSON.stringify(audit)).not.toContain(secret);
  expect((await terminal.type(`user password-link ${accountId} nobody`)).stderr).toContain("moorage admin user list");
});

test("an operator lists an account's apps, suspends one and enables it again", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const [alice, bob] = [await world.customer(), await world.customer()];
  const create = (by: typeof alice, label: string) =>
    by.post<{ id: string }>("/v4/account/oauth-clients", { label, redirect_uri: "https://app.example/cb" });
  const { id } = (await create(alice, "Fleet board")).body;
  await create(bob, "Other app");

  const { stdout } = await type("oauth-client list");
  expect(stdout).toMatch(/Fleet board +https:\/\/app\.example\/cb +no +no +no +active\n/);
  expect(stdout).toContain("Other app");
  expect(await json(`oauth-client list --account ${alice.accountId}`)).toMatchObject([{ id, status: "active" }]);
  expect((await type(`oauth-client suspend ${id}`)).stdout).toContain(`is suspended.`);
  expect((await alice.get(`/v4/account/oauth-clients/${id}`)).body).toMatchObject({ status: "suspended" });
  expect((await type(`oauth-client disable ${id}`)).stdout).toContain("is disabled.");
  expect((await type(`oauth-client enable ${id}`)).stdout).toContain("is active.");
  expect((await type(`oauth-client trust ${id} --query on`)).stdout).toContain(
    "may add a query string to its redirect URI, https://app.example/cb",
  );
  expect((await type(`oauth-client trust ${id} --query off`)).stdout).toContain("may not add a query");
  expect(await type(`oauth-client trust ${id} --query perhaps`)).toMatchObject({ code: 1 });
  expect((await type(`oauth-client verify ${id}`)).stdout).toContain("is verified");
  expect(await json(`oauth-client list --account ${alice.accountId}`)).toMatchObject([{ id, verified: true }]);
  expect((await type(`oauth-client unverify ${id}`)).stdout).toContain("is not verified");
  expect((await type("oauth-client disable 1234")).stderr).toContain("moorage admin oauth-client list");
});

test("an operator resets a lost second factor, and the user is notified", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { accountId, userId, username } = await world.customer();
  await world.db
    .updateTable("users")
    .set({ password_hash: "x", tfa_secret: "sealed", tfa_enabled_at: world.time.now })
    .where("id", "=", userId)
    .execute();

  const { stdout } = await terminal.type(`user two-factor-off ${accountId} ${username}`);

  expect(stdout).toBe(`${accountTexts.twoFactorOff({ username }).text}\n`);
  const user = await world.db.selectFrom("users").selectAll().where("id", "=", userId).executeTakeFirstOrThrow();
  expect(user).toMatchObject({ tfa_secret: null, tfa_enabled_at: null });
  expect((await world.events()).at(-1)).toMatchObject({ action: "tfa_disabled", username: null });
  expect(await world.db.selectFrom("mails").select("id").execute()).toHaveLength(1);
});

test("an operator registers compute instances and disks, plans maintenance, and removes them", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });

  const add = `compute add ${owner.accountId} web --region eu-central --plan m1-small`;
  expect((await type(add)).stdout).toMatch(
    /^Compute instance web \(\d+\) is saved\. Next, register its disks: moorage admin disk add \d+ --help\n$/,
  );
  const { id } = await json<{ id: number }>(add);
  expect((await type(`compute list --account ${owner.accountId}`)).stdout).toMatch(/web +eu-central +m1-small +-\n/);
  const disk = await json<{ id: number }>(`disk add ${id} root --size-mb 10240 --device /dev/vg/root`);
  expect((await type(`compute show ${id}`)).stdout).toMatch(/root +10240 +ext4 +\/dev\/vg\/root\n/);
  expect((await type(`user grants set ${owner.accountId} ${clerk.username} --compute ${id}=read_only`)).stdout).toMatch(
    new RegExp(`COMPUTE +LABEL +PERMISSION\n${id} +web +read_only\n`),
  );

  const plan = `maintenance schedule ${id} --type reboot --when 2031-01-01T02:00:00 --reason kernel`;
  expect((await type(plan)).stdout).toContain("reboot of web at 2031-01-01T02:00:00 UTC.");
  const [planned] = await json<{ id: number }[]>("maintenance list");
  expect(await clerk.get("/v4/account/maintenance")).toMatchObject({ body: { data: [{ reason: "kernel" }] } });
  expect((await type(`maintenance start ${planned?.id}`)).stdout).toContain("is started.");
  expect((await type(plan)).stderr).toContain("moorage admin maintenance list");
  expect((await type(`maintenance complete ${planned?.id}`)).stdout).toContain("is completed.");
  expect((await type(`maintenance cancel ${planned?.id}`)).stderr).toContain("is completed");
  expect((await type("maintenance list")).stdout).toContain("moorage admin maintenance schedule --help");
  expect(await json("maintenance list --all")).toMatchObject([{ status: "completed", label: "web" }]);

  expect((await type(`disk remove ${disk.id}`)).stdout).toContain("Disk root");
  expect((await type(`disk list ${id}`)).stdout).toContain(computeTexts.noDisks({ compute: String(id) }).text);
  expect((await type(`compute remove ${id}`)).stdout).toContain("is removed.");
  expect((await type(`compute remove ${id}`)).stderr).toContain("moorage admin compute list");
});

test("removing an instance prints which images are made, and what to keep until then", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const [owner, host] = [await world.customer(), await world.host()];
  await world.db.updateTable("host_leases").set({ captures: true }).execute();
  const made = async (label: string): Promise<number> => {
    const add = `compute add ${owner.accountId} ${label} --region eu-central --host ${host.name}`;
    const { id } = await json<{ id: number }>(add);
    await type(`disk add ${id} root --size-mb 10 --device /dev/vg/${label}`);
    await type(`disk add ${id} swap --size-mb 10 --filesystem swap --device /dev/vg/${label}-swap`);
    return id;
  };

  const { stdout } = await type(`compute remove ${await made("web")}`);
  expect(stdout).toMatch(/Disk root \(\d+\) becomes the image private\/\d+, which is kept until /);
  expect(stdout).toMatch(/Disk swap \(\d+\) does not become an image: /);
  expect(stdout).toContain(computeTexts.keepDisks({ account: owner.accountId }).text);
  expect((await type(`compute remove ${await made("db")} --no-image`)).stdout).toMatch(
    /^Compute instance db .* is removed\.\n$/,
  );
  expect(await world.openOperations()).toEqual(["captureImage"]);
});

test("an operator starts and ends an outage", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type } = terminal;

  expect((await type("region outage eu-central --message Flood")).stdout).toBe(
    `${catalogueTexts.regionDown({ id: "eu-central", message: "Flood" }).text}\n`,
  );
  expect((await type("region list")).stdout).toMatch(/eu-central +Frankfurt +de +Flood\n/);
  expect((await type("region outage eu-central")).stderr).toContain("--over");
  expect((await type("region outage eu-central --over --message Flood")).code).toBe(1);
  expect((await type("region outage eu-central --over")).stdout).toBe(
    `${catalogueTexts.regionUp({ id: "eu-central" }).text}\n`,
  );
  expect((await type("region outage moon --over")).stderr).toContain("moorage admin region list");
});

test("an operator lists invoices, corrects one, recomputes it and checks the ledger", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const { accountId } = await world.customer();
  expect((await type("invoice list")).stdout).toContain(billingTexts.noInvoices().text);
  await setPrice(world, { hourly: 22_500, monthly: 15_000_000 });
  await used(world, accountId, { from: "2026-09-30T22:00:00Z", to: "2026-10-01T00:00:00Z" });
  await endMonth(world, "2026-09-01", [accountId]);

  const [invoice] = await json<{ id: number }[]>(`invoice list --account ${accountId}`);
  expect((await type("invoice list")).stdout).toMatch(/2026-09 .*\$0\.05 +\$0\.00 +\$0\.05\n/);
  expect((await type(`invoice show ${invoice?.id}`)).stdout).toMatch(
    /Database shop.* 2 +\$0\.0225 +\$0\.05[^]*Total: \$0\.05/,
  );
  expect((await type(`invoice correct ${invoice?.id} --amount -0.05 --label Outage`)).stdout).toContain(
    '-$0.05 ("Outage")',
  );
  expect((await type(`invoice adjust ${accountId} --amount -5 --label Goodwill`)).stdout).toContain("-$5.00");
  expect((await type(`invoice rerate ${invoice?.id}`)).stdout).toContain("agrees with the recorded usage: $0.05");
  expect((await type("ledger check")).stdout).toContain("The ledger balances");
  await world.db
    .insertInto("ledger")
    .values({
      account_id: accountId,
      at: world.time.now,
      kind: "payment",
      source: 1,
      receivable_micros: -5,
      cash_micros: 5,
    })
    .execute();
  expect(await type("ledger check")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`account ${accountId}: payments and the ledger differ`),
  });
  expect((await type("invoice show 7")).stderr).toContain("moorage admin invoice list");
});

test("an operator shows an account, hides availability from it, and reopens it after cancellation", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type } = terminal;
  const alice = await world.customer();
  const id = alice.accountId;
  await alice.put("/v4/account", { city: "Hamburg", country: "DE" });

  expect((await type(`account show ${id}`)).stdout).toMatch(/address: +Hamburg, DE\n/);
  const hidden = accountTexts.availabilityHidden({ account: String(id) });
  expect((await type(`account availability ${id} off`)).stdout).toContain(hidden.text);
  expect((await alice.get("/v4/account/availability")).status).toBe(403);
  expect((await type(`account availability ${id} maybe`)).stderr).toContain(accountTexts.availabilityInvalid().text);
  expect((await type(`account reopen ${id}`)).stderr).toContain("is not closed");
  await alice.post("/v4/account/cancel", { comments: "moving on" });
  const shown = (await type(`account show ${id}`)).stdout;
  expect(shown).toMatch(/closed: +\S+, data kept until /);
  expect(shown).toContain(`${alice.username}: moving on`);
  expect((await type(`account reopen ${id}`)).stdout).toContain(`Account ${id} is open.`);
  expect((await type(`account show ${id}`)).stdout).not.toContain("closed:");
});

test("an operator publishes, deprecates and retires an image, and raises an account's limits", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  expect((await type("image list")).stdout).toContain(imageTexts.none().text);
  const alice = await world.customer();
  const { id } = await availableImage(world, alice, { label: "golden" });

  expect((await type(`image list --account ${alice.accountId}`)).stdout).toMatch(/ golden +manual +available +100 /);
  expect((await type(`image publish ${id} --name debian-12 --label Debian --vendor Debian`)).stdout).toBe(
    `${imageTexts.published({ label: "Debian", id: "operator/debian-12" }).text}\n`,
  );
  const other = await availableImage(world, alice);
  const again = `image publish ${other.id} --name debian-12 --label Debian`;
  expect(await type(again)).toMatchObject({ code: 1, stderr: expect.stringContaining("already") });
  expect((await type(`${again} --replace`)).code).toBe(0);
  expect((await type("image deprecate operator/debian-12 --eol 2028-06-30T00:00:00")).stdout).toContain("2028-06-30");
  expect(await json("image list")).toMatchObject([{ id: "operator/debian-12", deprecated: true }]);
  expect((await type("image retire operator/debian-12")).stdout).toContain("operator/debian-12 is retired");
  expect((await type("image retire operator/debian-12")).stderr).toContain("moorage admin image list");

  const limits = `image limits ${alice.accountId}`;
  expect((await type(`${limits} --images 30 --raw-mb 8000`)).stdout).toContain("0 of 30 images");
  expect((await type(limits)).stdout).toContain(
    "0 of 30 images and 0 of 153600 MB. An uncompressed image has at most 8000 MB.",
  );
  expect((await type(`${limits} --images default`)).stdout).toContain("0 of 25 images");
  expect((await type(`${limits} --images many`)).stderr).toContain(imageTexts.limitInvalid().text);
});

test("an operator revokes the certificate of a host, gets a token for a new key, and sees which host is revoked", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { name } = await world.host();

  expect((await terminal.type(`host revoke ${name}`)).stdout).toContain(texts.hostRevoked({ name }).text);
  expect((await terminal.type("host list")).stdout).toContain("revoked: to be enrolled again");
  const { enrol_token: token } = await terminal.json<{ enrol_token: string }>(`host enrol-again ${name}`);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect((await terminal.type(`host enrol-again ${name}`)).stdout).toMatch(/valid for 24 hours:\n[0-9a-f]{64}\n$/);
  expect((await terminal.type("host revoke nobody")).stderr).toContain("no host is called nobody");
});

test("only an unreachable host is declared dead, and only a cluster can be bootstrapped", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { host, database } = await databaseFixture(world);

  expect(await terminal.type(`host dead ${host.name}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("last polled 0 seconds ago"),
  });
  world.time.now = new Date(world.time.now.getTime() + 60_000);
  const dead = texts.hostDead({ name: host.name, nodes: 1 }).text;
  for (let again = 0; again < 2; again++)
    expect((await terminal.type(`host dead ${host.name}`)).stdout).toContain(dead);
  expect((await terminal.type("host dead nobody")).stderr).toContain("no host is called nobody");

  expect((await terminal.type(`db bootstrap ${database.id}`)).stderr).toContain(
    "Only a running database of three nodes",
  );
  expect((await terminal.type("db bootstrap 7")).stderr).toContain("No database has the id 7");
  expect((await terminal.type(`db lost-transactions ${database.id}`)).stdout).toBe(
    `${texts.noLostTransactions().text}\n`,
  );
  expect((await terminal.type("db lost-transactions lost")).stderr).toContain("No database has the id lost");
});

test("an operator verifies the audit, and learns which row was changed, and what was cut off since an anchor", async () => {
  await using world = await newWorld();
  await using terminal = await startConsole(world);
  const { type, json } = terminal;
  const link = createLinkJob({ ...world, log: createLog("test", "silent") });
  await type("region create us-east --label Newark --country us");
  await type("region create us-west --label Fremont --country us");
  await link();

  const { anchor, chains } = await json<{ anchor: string; chains: object[] }>("audit verify");
  const { count } = await world.db
    .selectFrom("audit")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  const part = { chain: "audit", rows: count, links: count, waiting: 0, faults: 0 };
  expect(chains).toContainEqual(expect.objectContaining(part));
  const whole = await type(["audit", "verify", "--anchor", anchor]);
  expect(whole).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(auditTexts.chainsWhole({ compared: true }).text),
  });
  expect(whole.stdout).toContain(anchor);
  expect(await type(["audit", "verify", "--anchor", "audit"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the anchor of an earlier verification"),
  });

  await sql`alter table audit disable trigger user`.execute(world.db);
  await sql`update audit set actor = 'nobody' where id = (select max(id) from audit)`.execute(world.db);
  const { rows } = await sql<{ id: number }>`select max(id) as id from audit`.execute(world.db);
  expect(await type("audit verify")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`audit: 1 fault, first in row ${rows[0]?.id}: the row is not as it was written.`),
  });
  await sql`delete from audit`.execute(world.db);
  await sql`delete from chain_links`.execute(world.db);
  await sql`delete from chain_heads`.execute(world.db);
  expect((await type("audit verify")).code).toBe(0);
  expect(await type(["audit", "verify", "--anchor", anchor])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the chain ends before the anchor"),
  });
});

test("an operator replaces the key of the key ring, and learns when the former one can be removed", async () => {
  const ring = { current: "k1", keys: { k1: newKey() } as Record<string, string> };
  await using world = await newWorld({ keyRing: ring });
  await using terminal = await startConsole(world);
  const { type } = terminal;
  const { accountId } = await world.customer();
  await sql`update users set tfa_secret = ${world.sealer.seal(["users", "tfa_secret", accountId, 1], "of another user")}
    where account_id = ${accountId}`.execute(world.db);
  expect((await type("keys status")).stdout).toContain(keyTexts.onlyKey({ id: "k1" }).text);

  ring.keys["k2"] = newKey();
  ring.current = "k2";
  const needed = await type("keys status");
  expect(needed.stdout).toMatch(/k2 +current +-\n/);
  expect(needed.stdout).toContain("Key k1 must stay in the key ring.");
  expect(needed.stdout).toContain("users.tfa_secret, 1: run `moorage admin keys rotate`.");

  expect(await type("keys rotate")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/do not open: 1\..*\n +users\.tfa_secret of \d+\/\d+\n/s),
  });
  await sql`update users set tfa_secret = null`.execute(world.db);
  const rotated = await type("keys rotate");

  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining(keyTexts.keyRemovable({ id: "k1" }).text) });
  delete ring.keys["k1"];
  expect((await type("keys status")).stdout).toContain(keyTexts.onlyKey({ id: "k2" }).text);
  const entry = await world.db
    .selectFrom("audit")
    .select(["actor", "detail"])
    .where("action", "=", "rotate_keys")
    .orderBy("id", "desc")
    .executeTakeFirstOrThrow();
  expect(entry).toEqual({ actor: "operator", detail: { current: "k2", former: ["k1"] } });
});
