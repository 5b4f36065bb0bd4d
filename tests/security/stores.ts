/** Everything that the stack stores and that must not hold a secret in clear, as streams of bytes. */
import { execFile, spawn } from "node:child_process";
import { createReadStream, globSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { loopback, ports } from "../../tools/stack/addresses.ts";
import { inParts, inStack } from "../../tools/stack/paths.ts";

const run = promisify(execFile);

export type Store = {
  name: string;
  stream(): AsyncIterable<Buffer>;
  /** Puts a text there, as a fault of ours would; the returned function removes it. */
  plant(text: string): Promise<() => Promise<unknown>>;
};

const server = ["--host", "127.0.0.1", "--port", String(ports.postgres), "--username", "postgres"];
export const psql = async (database: string, statement: string): Promise<string> =>
  (await run(inParts("bin", "psql"), [...server, "-AtX", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement]))
    .stdout;

async function* outputOf(command: string, args: readonly string[]): AsyncIterable<Buffer> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  yield* child.stdout as AsyncIterable<Buffer>;
  if ((await ended) !== 0) throw new Error(`${command} failed.`);
}

const databaseStore = (name: string): Store => ({
  name: `database ${name}`,
  stream: () => outputOf(inParts("bin", "pg_dump"), [...server, "--dbname", name]),
  async plant(text) {
    // As text, and as bytes: a dump shows the two differently.
    const literal = `'${text.replaceAll("'", "''")}'`;
    await psql(name, `create table planted (words text, bytes bytea)`);
    await psql(name, `insert into planted values (${literal}, convert_to(${literal}, 'UTF8'))`);
    return () => psql(name, "drop table planted");
  },
});

/** Each key with all its content, whatever its type. */
const everyKey = `
local read = { string = {'get'}, hash = {'hgetall'}, set = {'smembers'}, list = {'lrange', 0, -1},
  zset = {'zrange', 0, -1}, stream = {'xrange', '-', '+'} }
local function flat(value) if type(value) ~= 'table' then return tostring(value) end
  local parts = {} for i, each in ipairs(value) do parts[i] = flat(each) end return table.concat(parts, ' ') end
local lines = {}
for _, key in ipairs(redis.call('keys', '*')) do
  local how = read[redis.call('type', key).ok]
  lines[#lines + 1] = key .. ' ' .. flat(redis.call(how[1], key, unpack(how, 2)))
end
return table.concat(lines, '\\n')`;
const valkey = ["-h", "127.0.0.1", "-p", String(ports.valkey), "--raw", "-e"];

const valkeyStore: Store = {
  name: `valkey ${loopback(ports.valkey)}`,
  stream: () => outputOf("valkey-cli", [...valkey, "eval", everyKey, "0"]),
  async plant(text) {
    await run("valkey-cli", [...valkey, "hset", `planted ${text}`, "field", text]);
    return () => run("valkey-cli", [...valkey, "del", `planted ${text}`]);
  },
};

/** Every file in it, including those that appear or disappear meanwhile. */
export async function* filesIn(...folders: string[]): AsyncIterable<Buffer> {
  for (const folder of folders)
    for (const file of globSync(join(folder, "**"), { exclude: [] }).filter(isFile)) {
      try {
        yield* createReadStream(file) as AsyncIterable<Buffer>;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
      // Nothing is found across the end of a file.
      yield Buffer.alloc(64);
    }
}
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const logs = inStack("log");

/** Includes all files beside it: logs are rotated. */
const logStore = (service: string): Store => ({
  name: `log ${service}`,
  stream: () => filesIn(join(logs, service)),
  plant: (text) => plantFile(join(logs, service), `{"level":30,"msg":"${text}"}\n`),
});

export async function plantFile(folder: string, text: string): Promise<() => Promise<void>> {
  const file = join(folder, "planted");
  writeFileSync(file, text);
  return async () => rmSync(file);
}

export async function everyStore(): Promise<Store[]> {
  const databases = await psql("postgres", "select datname from pg_database where datallowconn and not datistemplate");
  const services = globSync(join(logs, "*")).filter((path) => statSync(path).isDirectory());
  return [
    ...databases.trim().split("\n").map(databaseStore),
    valkeyStore,
    ...services.map((path) => logStore(relative(logs, path))).sort((one, other) => (one.name < other.name ? -1 : 1)),
  ];
}
