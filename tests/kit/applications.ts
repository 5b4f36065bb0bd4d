import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inParts, node, repo } from "../../tools/stack/paths.ts";
import { runStatement, type Door, inside, type ClientMachine } from "./client.ts";

const run = promisify(execFile);
const PATIENCE_MS = 900_000;

const source = (...parts: string[]): string => join(repo, "tests/applications", ...parts);
const python = inParts("python", "applications", "bin", "python");

/** One program per framework, in `tests/applications`. Each prints `ok <step>` after each of its steps. */
export const applications: Record<string, string[]> = {
  Django: [python, source("django", "application.py")],
  "SQLAlchemy and Alembic": [python, source("alembic", "application.py")],
  TypeORM: [node, source("typeorm.ts")],
  Knex: [node, source("knex.ts")],
  Hibernate: ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", inParts("hibernate", "*"), "Application"],
  GORM: [inParts("bin", "application-gorm")],
};
export const steps = ["ok migrate", "ok write", "ok read", "ok migrate again"];

/** Java does not read PEM files. */
async function trustStoreOf(ca: string): Promise<string> {
  const store = join(await mkdtemp(join(tmpdir(), "moorage-trust-")), "trust.p12");
  const kind = ["-storetype", "PKCS12", "-storepass", "changeit"];
  await run("keytool", ["-importcert", "-noprompt", "-alias", "moorage", "-file", ca, "-keystore", store, ...kind]);
  return store;
}

/** Runs an application on a tenant's machine, in a separate schema, and returns the lines that it printed. */
export async function runApplication(machine: ClientMachine, door: Door, name: string): Promise<string[]> {
  const schema = `app_${name.toLowerCase().replaceAll(/\W+/g, "_")}`;
  await runStatement(machine, door, `create database ${schema}`);
  const settings = {
    DB_HOST: door.name,
    DB_PORT: String(door.port),
    DB_USER: door.username,
    DB_PASSWORD: door.password,
    DB_NAME: schema,
    DB_CA: door.ca,
    DB_TRUST: name === "Hibernate" ? await trustStoreOf(door.ca) : "",
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const { stdout } = await run("ip", inside(machine, ...(applications[name] ?? [])), {
    env: { PATH: process.env["PATH"], ...settings },
    timeout: PATIENCE_MS,
  });
  // A framework may log to the same stream, such as statements that were slow on a busy machine.
  return stdout.split("\n").filter((line) => line.startsWith("ok "));
}
