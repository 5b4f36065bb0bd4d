/** The shell examples of docs/tenants/importing-your-data.md and sql-privileges-and-limits.md, run in order. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { enginesDir } from "../../tools/stack/paths.ts";
import { shellBlocks } from "../examples/shell.ts";
import { type Door, doorOf, inside, clientA } from "../kit/client.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const run = promisify(execFile);
const alice = tenant();
const a = clientA();
const [importing, privileges] = ["docs/tenants/importing-your-data.md", "docs/tenants/sql-privileges-and-limits.md"];

let ids: number[] = [];
let folder: string;
let target: Door;

/** In the namespace of a tenant's machine, with MySQL's own programs. */
async function paste(code: string): Promise<string> {
  const { name, port, username, password, ca } = target;
  const { stdout } = await run("ip", inside(a, "bash", "-euo", "pipefail", "-c", code), {
    cwd: folder,
    env: {
      PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
      DB_HOST: name,
      DB_PORT: `${port}`,
      DB_USER: username,
      DB_PASSWORD: password,
      DB_CA: ca,
    },
    timeout: 900_000,
  });
  return stdout;
}
/** From the node image; a tenant has them installed. */
const program = (name: string): string => {
  const image = join(enginesDir, "mysql", "rootfs", "usr");
  return `#!/bin/sh
exec ${image}/lib64/ld-linux-x86-64.so.2 --library-path ${image}/lib/x86_64-linux-gnu ${image}/bin/${name} "$@" \\
  --character-sets-dir=${image}/share/mysql/charsets\n`;
};
const optionFile = ({ name, port, username, password, ca }: Door): string =>
  `[client]\nhost=${name}\nport=${port}\nuser=${username}\npassword="${password}"\nssl-mode=VERIFY_IDENTITY\nssl-ca=${ca}\n`;
const at = (server: "source" | "target", sql: string): Promise<string> =>
  paste(`mysql --defaults-file=${server}.cnf -N <<'END'\n${sql}\nEND`);

/** A schema from another server, with everything that a dump can contain. */
const shop = `
CREATE DATABASE shop; USE shop;
CREATE USER 'app'@'%' IDENTIFIED BY 'app'; GRANT ALL ON shop.* TO 'app'@'%';
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40));
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, cents INT, gross INT, FOREIGN KEY (customer) REFERENCES customers (id));
CREATE TABLE notes (line TEXT);
CREATE DEFINER = 'app'@'%' FUNCTION with_tax(cents INT) RETURNS INT DETERMINISTIC RETURN ROUND(cents * 1.19);
CREATE DEFINER = 'app'@'%' TRIGGER taxed BEFORE INSERT ON orders FOR EACH ROW SET NEW.gross = with_tax(NEW.cents);
CREATE DEFINER = 'app'@'%' VIEW totals AS SELECT customer, SUM(with_tax(cents)) AS gross FROM orders GROUP BY customer;
CREATE DEFINER = 'left'@'%' PROCEDURE forgotten() SELECT 1;
CREATE EVENT tidy ON SCHEDULE EVERY 1 DAY DO DELETE FROM notes;
INSERT INTO customers VALUES (1, 'Müller'), (2, 'Ångström');
INSERT INTO orders (customer, cents) VALUES (1, 1000), (2, 250);
INSERT INTO notes VALUES ('no key'), ('no key');`;

beforeAll(async () => {
  await allowDeletions(100);
  folder = await mkdtemp(join(tmpdir(), "moorage-mysql-pages-"));
  await mkdir(join(folder, "bin"));
  for (const name of ["mysql", "mysqldump"]) await writeFile(join(folder, "bin", name), program(name), { mode: 0o755 });
  for (const each of ["source", "target"]) {
    const { id } = await alice.createSurely(unique(each), 60, { allow_list: [a.address] });
    ids = [...ids, id];
  }
  for (const id of ids) await alice.untilStatus(id, "active", 120);
  target = await doorOf(alice, ids[1] as number);
  await writeFile(join(folder, "source.cnf"), optionFile(await doorOf(alice, ids[0] as number)));
  await at("source", shop);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  for (const id of ids) await alice.deleteSurely(id);
  for (const id of ids) await alice.untilEvent(id, "database_delete", 120);
});

test("a database is imported into another one completely and unchanged", async () => {
  for (const { code } of shellBlocks(importing)) {
    if (code.includes("dump.sql")) {
      // A dump made without that option.
      await at("target", "DROP DATABASE shop");
      await paste("mysqldump --defaults-file=source.cnf --routines --events --databases shop >dump.sql 2>warnings");
    }
    await paste(code);
  }
  expect(await at("target", "SELECT name FROM shop.customers ORDER BY id")).toBe("Müller\nÅngström\nAda\nGrace\n");
  await at("target", "INSERT INTO shop.orders (customer, cents) VALUES (3, 100)");
  expect(await at("target", "SELECT gross FROM shop.totals ORDER BY customer")).toBe("1190\n298\n119\n");
  const made = `SELECT routine_name, definer FROM information_schema.routines WHERE routine_schema = 'shop'
    UNION SELECT trigger_name, definer FROM information_schema.triggers WHERE trigger_schema = 'shop'
    UNION SELECT event_name, definer FROM information_schema.events WHERE event_schema = 'shop' ORDER BY 1`;
  expect(await at("target", made)).toBe(await at("source", made));
});

test("what the page on privileges promises is true", async () => {
  const sleeper = paste(
    `sed -e 's/^user=.*/user=app/' -e 's/^password=.*/password=app/' target.cnf >app.cnf; mysql --defaults-file=app.cnf -e 'SELECT SLEEP(600); SELECT SLEEP(600)'`,
  ).catch((error: unknown) => String(error));
  const sessions = () => at("target", "SELECT COUNT(*) FROM performance_schema.processlist WHERE user = 'app'");
  await expect.poll(sessions).toBe("1\n");
  const output: string[] = [];
  for (const { code } of shellBlocks(privileges)) output.push(await paste(code));
  await sleeper;
  await expect.poll(sessions).toBe("0\n");
  expect(output.join("")).toContain("2026-07-01 14:00:00");
  expect(await at("target", "SHOW CREATE TABLE shop.log")).not.toContain("my_row_id");
});
