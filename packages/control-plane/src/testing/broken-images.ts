import { createHash } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import { CHUNK_BYTES, chunkName, DiskManifest, MANIFEST } from "@moorage/disk-image";
import type { StoredObject } from "#platform/s3-client.ts";

/** The part of a store that the check needs. */
export type Shelf = {
  name: string;
  list: (prefix: string) => AsyncIterable<readonly Pick<StoredObject, "key">[]>;
  get: (key: string) => Promise<Uint8Array | undefined>;
};
type Query = <Row extends object>(text: string) => Promise<Row[]>;

type Kept = {
  id: number;
  content: string;
  manifest: string;
  raw: string;
  raw_bytes: number;
  size_mb: number;
  stores: string[];
};

/**
 * All current faults of images, as text: rows compared with events and operations, and with every byte of every store.
 * Valid when no work is in progress, and the stores have been cleared and swept.
 */
export const brokenImages = async (query: Query, shelves: readonly Shelf[]): Promise<string[]> => [
  ...(await brokenImageRows(query)),
  ...(await brokenContents(query, shelves)),
];

const LIVE = "i.deleted_at is null";
const ENDED = "e.status in ('finished', 'failed')";

const rules: Record<string, string> = {
  "an image is still being made": `select id from images i where ${LIVE} and status = 'creating'`,
  "a capture outlived its operation":
    "select c.id from captures c join operations o on o.id = c.operation_id where o.settled_at is not null",
  "an available image without what is known of it": `select id from images i where status = 'available' and (content is null or raw_bytes is null or stored_bytes is null or raw_sha256 is null or manifest_sha256 is null or size_mb <> ceil(raw_bytes / 1048576.0))`,
  "an image that is not available has a size":
    "select id from images i where status <> 'available' and (size_mb <> 0 or content is not null)",
  "an available image that failed": "select id from images where status = 'available' and failed_at is not null",
  "an image that a user requested has other than one event of its creation": `
    select i.id, count(e.id) from images i
    left join events e on (e.action = 'image_upload' and e.entity_id = i.id::text)
      or (e.action = 'disk_imagize' and e.secondary_id = i.id::text)
    where i.event_id is not null group by i.id having count(e.id) <> 1`,
  "the event of an image's making ended otherwise than the image": `
    select i.id, i.status, e.status as event from images i join events e on e.id = i.event_id
    where e.status <> case when i.status = 'available' then 'finished' else 'failed' end
      and (${ENDED} or i.deleted_at is not null or i.failed_at is not null or i.status = 'available')`,
  "an image whose operation ended otherwise": `
    select i.id, i.status, o.outcome from images i join operations o on o.id = i.operation_id
    where o.settled_at is not null and (o.outcome = 'done') <> (i.status = 'available')`,
  "somebody has a grant on a deleted image": `
    select i.id from images i where i.deleted_at is not null and exists
      (select 1 from entity_grants g where g.entity_type = 'image' and g.entity_id = i.id)`,
  "a public image that still ends by itself":
    "select id from images where account_id is null and (expiry is not null or remove_at is not null)",
};

async function brokenImageRows(query: Query): Promise<string[]> {
  const broken: string[] = [];
  for (const [rule, text] of Object.entries(rules))
    for (const row of await query(text)) broken.push(`${rule}: ${JSON.stringify(row)}`);
  return broken;
}

const hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function brokenContents(query: Query, shelves: readonly Shelf[]): Promise<string[]> {
  const kept = await query<Kept>(`
    select i.id, i.content, encode(i.manifest_sha256, 'hex') as manifest, encode(i.raw_sha256, 'hex') as raw,
      i.raw_bytes, i.size_mb,
      array(select store from image_copies c where c.image_id = i.id and c.status = 'available') as stores
    from images i where ${LIVE} and status = 'available'`);
  const broken: string[] = [];
  for (const image of kept) {
    if (image.stores.length === 0) broken.push(`image ${image.id} is available, and lies in no store`);
  }
  for (const shelf of shelves) {
    const left = new Set<string>();
    for await (const page of shelf.list("")) for (const { key } of page) left.add(key);
    for (const image of kept.filter(({ stores }) => stores.includes(shelf.name)))
      for (const fault of await faultsOf(shelf, image, left))
        broken.push(`image ${image.id} in ${shelf.name}: ${fault}`);
    for (const key of [...left].sort())
      if (ofImages(key)) broken.push(`${shelf.name} holds ${key}, which no row explains`);
  }
  return broken;
}

/** The databases' archive may share the store. */
const ofImages = (key: string): boolean => key.startsWith("uploads/") || key.startsWith("images/");

/** Reads all of it, like a host that deploys it. Explained keys are removed from `left`. */
async function faultsOf(shelf: Shelf, image: Kept, left: Set<string>): Promise<string[]> {
  const at = (name: string): string => `images/${image.id}/${image.content}/${name}`;
  const text = await shelf.get(at(MANIFEST));
  left.delete(at(MANIFEST));
  if (text === undefined) return ["it has no manifest"];
  if (hex(text) !== image.manifest) return ["its manifest is not the one that was settled"];
  const manifest = DiskManifest.parse(JSON.parse(Buffer.from(text).toString("utf8")));
  const faults: string[] = [];
  const raw = createHash("sha256");
  const chunks = new Map(manifest.chunks.map((chunk) => [chunk.index, chunk]));
  for (let index = 0; index * CHUNK_BYTES < manifest.raw_bytes; index++) {
    const length = Math.min(CHUNK_BYTES, manifest.raw_bytes - index * CHUNK_BYTES);
    const listed = chunks.get(index);
    if (listed === undefined) {
      raw.update(Buffer.alloc(length));
      continue;
    }
    const key = at(chunkName(index));
    left.delete(key);
    const found = await shelf.get(key);
    if (found === undefined) return [...faults, `${chunkName(index)} is missing`];
    if (found.length !== listed.bytes || hex(found) !== listed.sha256)
      return [...faults, `${chunkName(index)} is another`];
    const plain = zstdDecompressSync(found);
    if (plain.length !== length) faults.push(`${chunkName(index)} has ${plain.length} bytes`);
    raw.update(plain);
  }
  if (manifest.raw_bytes !== image.raw_bytes) faults.push("its row has another length");
  const digest = raw.digest("hex");
  if (digest !== manifest.raw_sha256 || digest !== image.raw) faults.push("its bytes do not have the recorded SHA-256");
  return faults;
}
