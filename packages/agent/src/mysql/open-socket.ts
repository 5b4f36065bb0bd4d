import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { dirname } from "node:path";

/** O_PATH, which Node does not export: refers to a file without opening it. The same on all Linux architectures we run on. */
const pathOnly = 0o10000000;

/**
 * The socket of a node's server. `path` leads to this very socket until `close`, whatever happens in its folder, which
 * belongs to the node's user. A link, or a socket of another user, is an error: only processes in the node's container
 * can create sockets in this folder, so the peer is one of them.
 */
export async function openSocket(socket: string): Promise<{ path: string; close: () => Promise<void> }> {
  const { uid } = await lstat(dirname(socket));
  const file = await open(socket, pathOnly | constants.O_NOFOLLOW);
  const found = await file.stat();
  if (found.isSocket() && found.uid === uid) return { path: `/proc/self/fd/${file.fd}`, close: () => file.close() };
  await file.close();
  throw new Error(`${socket} is not a socket of user ${uid}.`);
}
