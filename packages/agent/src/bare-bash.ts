/**
 * A shell whose pipeline fails with any of its parts, and which reads no file of its user's. Our pipes to it are
 * sockets, which bash takes for a remote login: it would run `~/.bashrc` first, and wait for whatever that waits for.
 */
export const bareBash = ["--norc", "-o", "pipefail"] as const;
