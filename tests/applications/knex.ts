import { readFileSync } from "node:fs";
import knex, { type Knex } from "knex";

const { DB_HOST, DB_PORT, DB_USER, DB_PASSWORD, DB_NAME, DB_CA } = process.env;
const db = knex({
  client: "mysql2",
  connection: {
    host: DB_HOST ?? "",
    port: Number(DB_PORT),
    user: DB_USER ?? "",
    password: DB_PASSWORD ?? "",
    database: DB_NAME ?? "",
    ssl: { ca: readFileSync(DB_CA ?? "", "utf8"), rejectUnauthorized: true, verifyIdentity: true },
  } as Knex.MySql2ConnectionConfig,
});

const migrations: Record<string, Knex.Migration> = {
  "1-people": {
    up: async (schema) => {
      await schema.schema.createTable("people", (table) => {
        table.increments();
        table.string("name").notNullable().index();
        table.timestamps(true, true);
      });
      await schema.schema.createTable("letters", (table) => {
        table.increments();
        table.integer("person").unsigned().references("people.id").onDelete("CASCADE");
        table.text("body");
      });
    },
    down: (schema) => schema.schema.dropTable("letters").dropTable("people"),
  },
  "2-age": {
    up: async (schema) => {
      await schema.schema.alterTable("people", (table) => table.integer("age").notNullable().defaultTo(30));
      await schema.raw("CREATE FUNCTION is_adult(age INT) RETURNS BOOLEAN NO SQL RETURN age >= 18");
    },
    down: async (schema) => {
      await schema.raw("DROP FUNCTION is_adult");
      await schema.schema.alterTable("people", (table) => table.dropColumn("age"));
    },
  },
};
const upTo = (count: number): Knex.MigratorConfig => ({
  migrationSource: {
    getMigrations: async () => Object.keys(migrations).slice(0, count),
    getMigrationName: (name: string) => name,
    getMigration: async (name: string) => migrations[name] as Knex.Migration,
  },
});

await db.migrate.latest(upTo(1));
console.log("ok migrate");

await db.transaction(async (tx) => {
  for (let n = 0; n < 20; n += 1) {
    const [person] = await tx("people").insert({ name: `person ${n}` });
    await tx("letters").insert([1, 2, 3].map((number) => ({ person, body: `letter ${number}` })));
  }
});
console.log("ok write");

const rows = await db("people").join("letters", "letters.person", "people.id").groupBy("people.id").count("* as count");
if (rows.length !== 20 || rows.some(({ count }) => Number(count) !== 3)) throw new Error(JSON.stringify(rows));
console.log("ok read");

await db.migrate.latest(upTo(2));
const [adults] = await db("people").whereRaw("is_adult(age)").count("* as count");
if (Number(adults?.["count"]) !== 20) throw new Error(JSON.stringify(adults));
await db.migrate.rollback(upTo(2), true);
await db.migrate.latest(upTo(2));
console.log("ok migrate again");
await db.destroy();
