/**
 * A shell whose pipeline fails if any part of it fails, and which reads none of its user's files. Our pipes to it are
 * sockets, which bash takes for a remote login: it would run `~/.bashrc` first, and wait for whatever that waits for.
 */
export const bareBash = ["--norc", "-o", "pipefail"] as const;
