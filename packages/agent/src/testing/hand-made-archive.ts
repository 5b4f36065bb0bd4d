import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recipe } from "@moorage/contract/agent";
import { removeFolder } from "@moorage/testkit/folders.ts";
import type { ObjectStore } from "@moorage/testkit/object-store.ts";
import type { RowDataPacket } from "mysql2/promise";
import { type Manifest, manifestName, partBytes, partName } from "../archive/manifest.ts";
import { withPatientRoot } from "./patient-root.ts";
import { sh, type TestHost } from "./test-host.ts";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** The archive of one node, written by hand with standard programs: specifies the format independently of our code. */
export function handMadeArchive(host: TestHost, store: ObjectStore, node: string, { encrypted = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "moor-archive-"));
  sh(`age-keygen -o ${folder}/key 2>${folder}/said`);
  const identity = readFileSync(join(folder, "key"), "utf8").match(/AGE-SECRET-KEY-\S+/)?.[0] ?? "";
  const recipient = execFileSync("age-keygen", ["-y", join(folder, "key")], { encoding: "utf8" }).trim();
  const home = join(host.state, "nodes", node);
  const socket = join(home, "run", "mysqld.sock");
  const sql = (text: string) =>
    withPatientRoot(socket, async (connection) => (await connection.query<RowDataPacket[]>(text))[0]);
  const executed = async () => String((await sql("SELECT @@GLOBAL.gtid_executed AS gtid"))[0]?.["gtid"] ?? "");
  const logs: Recipe["logs"] = [];
  const keys = new Map<string, string>();
  let copied = "";

  return {
    socket,
    logs,
    /** A base copy of the current data. */
    async copy(keyring?: string): Promise<Recipe["base"]> {
      const id = randomUUID();
      await withPatientRoot(socket, async (connection) => {
        await connection.query("SET sql_log_bin = 0");
        await connection.query("INSTALL PLUGIN clone SONAME 'mysql_clone.so'").catch(() => {});
        await connection.query(`CLONE LOCAL DATA DIRECTORY = '/volume/tmp/${id}'`);
      });
      const top = [`-C ${home}/volume --transform 's,^tmp/${id},data,' tmp/${id} fixed.cnf`];
      if (keyring !== undefined) top.push(`-C ${keyring} keyring`);
      sh(
        `set -e; tar -cf - ${top.join(" ")} | zstd -q | age -r ${recipient} >${folder}/${id}; rm -r ${home}/volume/tmp/${id}`,
      );
      const bytes = readFileSync(join(folder, id));
      const parts: Manifest["parts"] = [];
      for (let from = 0; from < bytes.length; from += partBytes) {
        const part = bytes.subarray(from, from + partBytes);
        parts.push({ bytes: part.length, sha256: sha256(part) });
        await store.put(partName(id, parts.length), part);
      }
      copied = id;
      const [gtid, now] = [await executed(), new Date().toISOString()];
      const manifest = Buffer.from(
        JSON.stringify({
          version: 1,
          id,
          timeline: randomUUID(),
          gtid,
          started_at: now,
          ended_at: now,
          engine: { name: "mysql", version: "9.7.4" },
          encrypted,
          parts,
        } satisfies Manifest),
      );
      await store.put(manifestName(id), manifest);
      return {
        kind: "copy",
        identity,
        gtid,
        manifest: { url: await store.presignGet(manifestName(id)), sha256: sha256(manifest) },
        parts: await Promise.all(parts.map((_, index) => store.presignGet(partName(id, index + 1)))),
      };
    },
    /** Closes the active log, and stores it. */
    async ship(): Promise<void> {
      const name = String((await sql("SHOW BINARY LOG STATUS"))[0]?.["File"]);
      await sql("FLUSH BINARY LOGS");
      const uid = sh(`stat -c %u ${home}/run`).trim();
      const read = "mysqlbinlog --no-defaults --read-from-remote-server --socket=/run/mysqld/mysqld.sock --user=root";
      const command = [
        "exec",
        "--user",
        `0:${uid}`,
        "--env",
        "TMPDIR=/tmp",
        `moorage-${node}`,
        ...read.split(" "),
        name,
      ];
      const text = host.podmanBytes(...command);
      writeFileSync(join(folder, name), text);
      sh(`zstd -qc ${folder}/${name} | age -r ${recipient} >${folder}/${name}.age`);
      const bytes = readFileSync(join(folder, `${name}.age`));
      const key = `${node}/${randomUUID()}/${name}`;
      await store.put(key, bytes);
      keys.set(name, key);
      logs.push({
        name,
        identity,
        gtid: await executed(),
        url: await store.presignGet(key),
        sha256: sha256(bytes),
        bytes: bytes.length,
      });
    },
    /** Object names: of a log, or of a part of the last copy. */
    keyOfLog: (name: string): string => keys.get(name) ?? "",
    keyOfPart: (number: number): string => partName(copied, number),
    close: (): void => removeFolder(folder),
  };
}
export type HandMadeArchive = ReturnType<typeof handMadeArchive>;
