import { readFileSync } from "node:fs";
import { DataSource, EntitySchema, type MigrationInterface, type QueryRunner, Table, TableColumn } from "typeorm";

type Product = { id: number; name: string; tags: string[]; added: Date };
const Product = new EntitySchema<Product>({
  name: "Product",
  columns: {
    id: { type: "bigint", primary: true, generated: "increment" },
    name: { type: "varchar", length: 100, unique: true },
    tags: { type: "json" },
    added: { type: "datetime", precision: 6, createDate: true },
  },
});

class First1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: "product",
        columns: [
          { name: "id", type: "bigint", isPrimary: true, isGenerated: true, generationStrategy: "increment" },
          { name: "name", type: "varchar", length: "100", isUnique: true },
          { name: "tags", type: "json" },
          { name: "added", type: "datetime", precision: 6, default: "CURRENT_TIMESTAMP(6)" },
        ],
      }),
    );
    await runner.query(
      "CREATE TRIGGER product_name BEFORE INSERT ON product FOR EACH ROW SET NEW.name = TRIM(NEW.name)",
    );
  }
  down = (runner: QueryRunner): Promise<void> => runner.dropTable("product");
}

class Second1700000000001 implements MigrationInterface {
  up = (runner: QueryRunner): Promise<void> =>
    runner.addColumn("product", new TableColumn({ name: "stock", type: "int", default: 3 }));
  down = (runner: QueryRunner): Promise<void> => runner.dropColumn("product", "stock");
}

const { DB_HOST, DB_PORT, DB_USER, DB_PASSWORD, DB_NAME, DB_CA } = process.env;
const source = (migrations: (typeof First1700000000000 | typeof Second1700000000001)[]): Promise<DataSource> =>
  new DataSource({
    type: "mysql",
    host: DB_HOST ?? "",
    port: Number(DB_PORT),
    username: DB_USER ?? "",
    password: DB_PASSWORD ?? "",
    database: DB_NAME ?? "",
    ssl: { ca: readFileSync(DB_CA ?? "", "utf8"), rejectUnauthorized: true, verifyIdentity: true },
    timezone: "Z",
    entities: [Product],
    migrations,
  }).initialize();

const first = await source([First1700000000000]);
await first.runMigrations();
console.log("ok migrate");

const products = first.getRepository(Product);
await products.insert(
  Array.from({ length: 50 }, (_, n) => ({ name: `  product ${n} `, tags: ["new", `shelf ${n % 5}`] })),
);
console.log("ok write");

const found = await products
  .createQueryBuilder("product")
  .where("JSON_CONTAINS(product.tags, :tag)", { tag: '"shelf 2"' })
  .orderBy("product.name")
  .getMany();
if (found.length !== 10 || found[0]?.name !== "product 12") throw new Error(JSON.stringify(found));
console.log("ok read");
await first.destroy();

const second = await source([First1700000000000, Second1700000000001]);
await second.runMigrations();
const [{ stock }] = await second.query("SELECT SUM(stock) AS stock FROM product");
if (Number(stock) !== 150) throw new Error(`stock is ${stock}`);
await second.undoLastMigration();
await second.runMigrations();
console.log("ok migrate again");
await second.destroy();
