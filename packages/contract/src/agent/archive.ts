/** The messages about the object store: uploads, what is archived, and how to restore and verify it. */
import { z } from "zod";
import { Protocol } from "./protocol.ts";

/**
 * A base copy: `copies/<id>/manifest.json` and `copies/<id>/part-000001`, …. Binary logs: `logs/<name>`; those of a
 * cluster's member end with a mark of its own, so that members never overwrite each other. Lost transactions of a
 * former primary: `lost/<term>.<mark>`.
 */
export const ObjectName = z
  .string()
  .regex(
    /^(copies\/[0-9a-f-]{36}\/(manifest\.json|part-\d{6})|logs\/binlog\.\d{6,}(\.[0-9a-f]{16})?|lost\/\d+\.[0-9a-f]{16})$/,
  );

/** `timeline` must be the node's desired one: an outdated host cannot write into another timeline. */
export const UploadsRequest = z.object({
  protocol: Protocol,
  node: z.uuid(),
  timeline: z.uuid(),
  names: z.array(ObjectName).min(1).max(100),
});
export type UploadsRequest = z.output<typeof UploadsRequest>;
/**
 * In the order of the names. Each takes one PUT of any length, with a Content-MD5 that the store checks, and with these
 * headers, which are signed: the retention, where the store has Object Lock.
 */
export const UploadsReply = z.object({
  protocol: Protocol,
  urls: z.array(z.url()),
  headers: z.record(z.string(), z.string()).optional(),
});
export type UploadsReply = z.output<typeof UploadsReply>;

/** A base copy that is complete in the object store, its manifest written last. */
export const ArchivedCopy = z.object({
  id: z.uuid(),
  /** The copy holds everything that was committed before `started_at` and nothing committed after `ended_at`. */
  started_at: z.string(),
  ended_at: z.string(),
  gtid: z.string(),
  bytes: z.int().nonnegative(),
  parts: z.int().positive(),
  manifest_sha256: z.hex().length(64),
});
export type ArchivedCopy = z.output<typeof ArchivedCopy>;

/** A closed binary log that is in the object store. Logs of a timeline are reported in their order, without gaps. */
export const ArchivedLog = z.object({
  name: z.string(),
  sequence: z.int().positive(),
  closed_at: z.string(),
  /** Everything that was executed when the log was closed. */
  gtid: z.string(),
  /**
   * For a member of a cluster: everything that was executed before the log began. The gateway determines its place
   * among the logs of all members, because each member numbers its own.
   */
  previous: z.string().optional(),
  bytes: z.int().nonnegative(),
  sha256: z.hex().length(64),
});
export type ArchivedLog = z.output<typeof ArchivedLog>;

/** Where the archive of a cluster's timeline ends. */
const ArchiveEnd = z.object({
  /** Every transaction of the group that is in the archived logs. */
  gtid: z.string(),
  newest_copy: z.string().optional(),
});
export type ArchiveEnd = z.output<typeof ArchiveEnd>;

/** Sent again until it is acknowledged; sending it twice changes nothing. */
export const ArchivedRequest = z.object({
  protocol: Protocol,
  nodes: z.array(
    z.object({
      node: z.uuid(),
      timeline: z.uuid(),
      copies: z.array(ArchivedCopy).optional(),
      logs: z.array(ArchivedLog).optional(),
      /** Everything that was committed before this time is archived. Sent with logs, and once after midnight. */
      through: z.string().optional(),
      /** Asynchronous cluster: the term of the primary of these transactions. In a later term they may be lost. */
      term: z.int().optional(),
    }),
  ),
});
export type ArchivedRequest = z.output<typeof ArchivedRequest>;
/** What is then in the archive of the timelines. A member that takes over the archive sends an empty request first. */
export const ArchivedReply = z.object({
  protocol: Protocol,
  nodes: z.array(ArchiveEnd.extend({ node: z.uuid(), timeline: z.uuid() })).optional(),
});
export type ArchivedReply = z.output<typeof ArchivedReply>;

export const RecipeRequest = z.object({ protocol: Protocol, node: z.uuid(), purpose: z.enum(["data", "verify"]) });
export type RecipeRequest = z.output<typeof RecipeRequest>;

const StoredPart = z.object({ url: z.url(), sha256: z.hex().length(64), bytes: z.int() });
/** Builds a state of a timeline from a base and the logs after it, in order. */
export const Recipe = z.object({
  /** The result: the backup that a verification checks, and its time. */
  point: z.object({ backup: z.int().optional(), at: z.string() }),
  base: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("prepared"), sha256: z.string() }),
    /** The manifest has each part's length and SHA-256; `parts` are their addresses in order. */
    z.object({
      kind: z.literal("copy"),
      identity: z.string(),
      gtid: z.string(),
      manifest: z.object({ url: z.url(), sha256: z.hex().length(64) }),
      parts: z.array(z.url()),
    }),
  ]),
  logs: z.array(
    StoredPart.extend({
      name: z.string(),
      identity: z.string(),
      /** Everything that was executed at its end. A server that lacks any of it afterwards misses a log. */
      gtid: z.string(),
      /** Only transactions committed before this time are applied; then it is the last log of its timeline. */
      before: z.string().optional(),
    }),
  ),
  /** Parts of the other kept backups: only read, and compared with their SHA-256. */
  scrub: z.array(StoredPart).optional(),
});
export type Recipe = z.output<typeof Recipe>;
export const RecipeReply = z.object({ protocol: Protocol, recipe: Recipe });
export type RecipeReply = z.output<typeof RecipeReply>;

export const VerifiedRequest = z.object({
  protocol: Protocol,
  node: z.uuid(),
  timeline: z.uuid(),
  point: Recipe.shape.point,
  ok: z.boolean(),
  /** The result in a sentence: what was checked, or what is wrong. */
  message: z.string().max(1000),
});
export type VerifiedRequest = z.output<typeof VerifiedRequest>;
export const VerifiedReply = z.object({ protocol: Protocol });
