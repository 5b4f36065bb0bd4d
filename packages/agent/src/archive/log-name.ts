/**
 * The name of a binary log as a server reports it. It becomes a part of paths on the host and of an argument of
 * mysqlbinlog, so a name that the engine would not give is an error, whatever the server is.
 */
export function logNameOf(reported: unknown): string {
  if (typeof reported === "string" && /^binlog\.\d{6,10}$/.test(reported)) return reported;
  throw new Error(`The server reports a binary log with the name ${JSON.stringify(reported)?.slice(0, 100)}.`);
}
