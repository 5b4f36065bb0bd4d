import { constants } from "node:zlib";
import type { ImportBounds } from "../bounds.ts";
import { gpt, mbr, noise, sparse, zeros } from "./disks.ts";
import { fileOf, longMember, member, repeated, type TestFile } from "./gzip-file.ts";

const MB = 1024 ** 2;
const RUN = 16 * MB;
const SECTORS = (8 * MB) / 512;

export type GoodFile = { file: () => TestFile; raw: () => Iterable<Buffer>; bounds?: Partial<ImportBounds> };

const alone = (raw: () => Buffer, fields?: Parameters<typeof member>[1]): GoodFile => ({
  file: () => fileOf(member(raw(), fields)),
  raw: () => [raw()],
});
const times = (count: number, raw: Buffer): Buffer[] => Array.from({ length: count }, () => raw);
const piecesOf = (raw: Buffer, bytes: number): Buffer[] =>
  Array.from({ length: Math.ceil(raw.length / bytes) }, (_, n) => raw.subarray(n * bytes, (n + 1) * bytes));

const table = mbr({ type: 0x83, first: 2048, sectors: SECTORS - 2048, status: 0x80 });
const inMembers = (raw: Buffer, bytes: number): GoodFile => ({
  file: () => fileOf(...piecesOf(raw, bytes).map((piece) => member(piece))),
  raw: () => [raw],
});

/** Files that a careless reader would refuse, or misread. */
export const oddButValid: Record<string, GoodFile> = {
  "a disk of one sector": alone(() => noise(512)),
  "a disk of one sector of zeros": alone(() => zeros(512)),
  "a disk without a partition table": alone(() => sparse(3 * MB, [1080, "\x53\xef"], [2 * MB, noise(4096)])),
  "a filesystem whose first sector looks like a table, and is none": alone(() =>
    sparse(MB, [0, "\xeb\x3c\x90MSDOS5.0"], [446, noise(64)], [510, "\x55\xaa"]),
  ),
  "a partition up to the last sector": alone(() => sparse(8 * MB, [0, table], [MB, noise(MB)])),
  "logical partitions": alone(() =>
    sparse(
      8 * MB,
      [0, mbr({ type: 0x83, first: 64, sectors: 64 }, { type: 0x05, first: 2048, sectors: SECTORS - 2048 })],
      [2048 * 512, mbr({ type: 0x83, first: 64, sectors: 128 }, { type: 0x05, first: 8192, sectors: 2048 })],
      [10_240 * 512, mbr({ type: 0x82, first: 64, sectors: SECTORS - 10_304 })],
    ),
  ),
  "a GPT with a partition up to the last sector": alone(() =>
    sparse(8 * MB, [0, gpt(8 * MB, [{ first: 2048n, last: BigInt(SECTORS - 1) }])], [MB, noise(MB)]),
  ),
  "a GPT of a disk that was made larger": alone(() =>
    sparse(12 * MB, [0, gpt(8 * MB, [{ first: 2048n, last: 4095n }])]),
  ),
  "a last chunk that is not whole": alone(() => noise(9 * MB + 512)),
  "two chunks to the byte": alone(() => noise(16 * MB)),
  "many members": inMembers(noise(3 * MB), 64 * 1024),
  "members that end within sectors": inMembers(noise(MB), 1000),
  "members of one byte": inMembers(noise(4096), 1),
  "empty members before, between and after": {
    file: () => {
      const none = member(zeros(0));
      return fileOf(none, none, member(noise(MB)), none, member(noise(512)), repeated(1000, none));
    },
    raw: () => [noise(MB), noise(512)],
  },
  "a large member after many small ones": {
    file: () => fileOf(repeated(100, member(noise(512))), member(noise(5 * MB)), repeated(100, member(noise(512)))),
    raw: () => [...times(100, noise(512)), noise(5 * MB), ...times(100, noise(512))],
  },
  "small members that grow large": {
    file: () => repeated(3, member(zeros(2 * MB), { level: 9 })),
    raw: () => times(3, zeros(2 * MB)),
  },
  "every field that a header can have": alone(() => noise(MB), {
    extra: noise(65_535),
    name: "n".repeat(32_767),
    comment: "c".repeat(32_767),
    hasSum: true,
  }),
  "blocks that were stored as they are": alone(() => noise(MB), { level: constants.Z_NO_COMPRESSION }),
  "4 GB and a sector of zeros in one member, whose length no longer fits": {
    file: () => fileOf(longMember(256, zeros(RUN), { isTrue: true }), member(noise(512))),
    raw: () => [...times(256, zeros(RUN)), noise(512)],
    bounds: { rawBytes: 6144 * MB },
  },
  "holes between two sectors": {
    file: () => fileOf(member(noise(512)), longMember(3, zeros(RUN), { isTrue: true }), member(noise(512))),
    raw: () => [noise(512), ...times(3, zeros(RUN)), noise(512)],
  },
  "as large as a disk may be": {
    ...alone(() => zeros(64 * MB), { level: 9 }),
    bounds: { rawBytes: 64 * MB },
  },
  "as much content as a disk may hold": {
    ...alone(() => Buffer.concat([noise(8 * MB), zeros(8 * MB), noise(8 * MB)])),
    bounds: { keptBytes: 16 * MB },
  },
  "as many members as a file may have": {
    ...inMembers(noise(8192), 512),
    bounds: { members: 16 },
  },
  "as many bytes as an upload may have": {
    ...alone(() => noise(MB)),
    bounds: { uploadBytes: member(noise(MB)).length },
  },
};
