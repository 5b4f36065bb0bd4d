import { constants, deflateRawSync, gzipSync } from "node:zlib";
import type { ImportBounds } from "../bounds.ts";
import { noise, sparse, zeros } from "./disks.ts";
import { blocks, fileOf, header, longMember, member, repeated, type TestFile } from "./gzip-file.ts";
import { defaultBounds, smallBounds } from "./import-file.ts";

export type BadFile = { file: () => TestFile; bounds?: Partial<ImportBounds>; reason: string };

const [MB, TB] = [1024 ** 2, 1e12];
const RUN = 16 * MB;
const runs = (bytes: number): number => Math.ceil(bytes / RUN);
const real = defaultBounds;
const nothing = member(zeros(0));
/** One letter per chunk of 8 MB: compresses to almost nothing, and no chunk can be omitted. */
const dotted = sparse(RUN, [MB, "x"], [9 * MB, "x"]);
/** Deflate blocks that build new tables for a few letters each. */
const tables = (): Buffer =>
  Buffer.concat(
    Array.from({ length: 64 }, (_, n) =>
      deflateRawSync(Buffer.from(noise(400, n + 1).map((byte) => byte % (40 + n))), {
        finishFlush: constants.Z_FULL_FLUSH,
      }),
    ),
  );

const GROWN = `The disk is larger than ${smallBounds.rawBytes / MB} MB`;
const FULL = `The disk holds more than ${smallBounds.keptBytes / MB} MB that are not zeros`;
const COMPUTING = "The data takes more than 1 seconds of CPU time";
const SLOW = { cpuSeconds: 1 };

/** Small files that expand to large ones, or are slow. The small bounds apply where none are named. */
export const bombs: Record<string, BadFile> = {
  "5 TB of zeros in one member": {
    file: () => longMember(runs(5 * TB), zeros(RUN), { isTrue: false }),
    bounds: real,
    reason: "The disk is larger than 6144 MB",
  },
  "5 TB of zeros in members of 16 MB": {
    file: () => repeated(runs(5 * TB), member(zeros(RUN), { level: 9 })),
    reason: GROWN,
  },
  "5 TB of zeros in members of 4 KB": {
    file: () => repeated(Math.ceil((5 * TB) / 4096), member(zeros(4096), { level: 9 })),
    bounds: { uploadBytes: Number.MAX_SAFE_INTEGER },
    reason: GROWN,
  },
  "5 TB of zeros behind a true beginning": {
    file: () => fileOf(member(noise(MB)), longMember(runs(5 * TB), zeros(RUN), { isTrue: false })),
    reason: GROWN,
  },
  "one sector of zeros more than a disk may have": {
    file: () => fileOf(longMember(4, zeros(RUN), { isTrue: true }), member(zeros(512))),
    reason: GROWN,
  },
  "one byte of zeros more than a disk may have, in the same member": {
    file: () => fileOf(member(zeros(64 * MB + 1), { level: 9 })),
    reason: GROWN,
  },
  "zeros beyond the bound by members of one byte": {
    file: () => repeated(200_000, member(zeros(1))),
    bounds: { rawBytes: 128 * 1024 },
    reason: "The disk is larger than 0.125 MB",
  },
  "one letter without end": {
    file: () => longMember(runs(TB), Buffer.alloc(RUN, "A"), { isTrue: false }),
    reason: FULL,
  },
  "a pattern as long as deflate can repeat": {
    file: () => longMember(runs(TB), Buffer.alloc(RUN, noise(258)), { isTrue: false }),
    reason: FULL,
  },
  "a letter in every chunk": {
    file: () => longMember(runs(TB), dotted, { isTrue: false }),
    bounds: { rawBytes: 1024 * MB },
    reason: FULL,
  },
  "a letter in every chunk, by members": {
    file: () => repeated(runs(TB), member(dotted, { level: 9 })),
    bounds: { rawBytes: 1024 * MB },
    reason: FULL,
  },
  "noise beyond the bound": { file: () => fileOf(member(noise(40 * MB), { level: 0 })), reason: FULL },
  "one sector of content more than a disk may hold": {
    file: () => fileOf(member(Buffer.concat([noise(32 * MB), noise(512)]), { level: 0 })),
    reason: FULL,
  },
  "noise beyond the largest disk": {
    file: () => fileOf(member(noise(9 * MB))),
    bounds: { rawBytes: 9 * MB - 512 },
    reason: "The disk is larger than",
  },
  "a million empty members": {
    file: () => repeated(1_000_000, nothing),
    bounds: real,
    reason: "The gzip data has more than 196608 members",
  },
  "members without end, each with a header of 64 KB": {
    file: () => repeated(70_000, member(zeros(0), { extra: Buffer.alloc(65_535, "x") })),
    bounds: { members: 2000 },
    reason: "The gzip data has more than 2000 members",
  },
  "a name without end": {
    file: () => fileOf(header({ name: "" }).subarray(0, -1), repeated(4000, Buffer.alloc(MB, "n"))),
    reason: "The gzip header at byte 0 has a name or comment of more than 32768 bytes",
  },
  "a comment without end, in the second member": {
    file: () => fileOf(nothing, header({ comment: "" }).subarray(0, -1), repeated(4000, Buffer.alloc(MB, "c"))),
    reason: "The gzip header at byte 20 has a name or comment of more than 32768 bytes",
  },
  "gzip in gzip": {
    file: () => fileOf(member(gzipSync(gzipSync(zeros(RUN))))),
    reason: "What was compressed is gzip data once more",
  },
  "a bomb in gzip in gzip": {
    file: () => {
      const inner = Buffer.concat([header(), ...Array.from({ length: 64 }, () => blocks(zeros(RUN)))]);
      return fileOf(member(inner, { level: 9 }));
    },
    reason: "What was compressed is gzip data once more",
  },
  "a zip bomb in gzip": {
    file: () => longMember(1000, sparse(RUN, [0, "PK\x03\x04"]), { isTrue: false }),
    reason: "What was compressed is a zip archive",
  },
  "a tar archive of a sparse file in gzip": {
    file: () => longMember(1000, sparse(RUN, [257, "ustar\0"]), { isTrue: false }),
    reason: "What was compressed is a tar archive",
  },
  "a qcow2 disk of 5 TB that is all holes": {
    file: () => fileOf(member(sparse(256 * 1024, [0, "QFI\xfb\0\0\0\x03"], [24, "\0\0\x05\0\0\0\0\0"]))),
    reason: "What was compressed is a qcow2 disk",
  },
  "empty stored blocks without end": {
    file: () => fileOf(header(), repeated(900_000_000, Buffer.from([0, 0, 0, 0xff, 0xff]))),
    bounds: SLOW,
    reason: COMPUTING,
  },
  "a new table for every few letters": {
    file: () => fileOf(header(), repeated(100_000, tables())),
    bounds: { ...real, ...SLOW },
    reason: COMPUTING,
  },
  "members of one byte that take long": {
    file: () => repeated(100_000_000, member(noise(1))),
    bounds: { ...SLOW, members: 1e9 },
    reason: COMPUTING,
  },
  "zeros that take long": {
    file: () => longMember(runs(5 * TB), zeros(RUN), { isTrue: false }),
    bounds: { ...real, rawBytes: 6 * TB, ...SLOW },
    reason: COMPUTING,
  },
};
