import { stat } from "node:fs/promises";

/** Changes with each start of a server, which recreates its socket. */
export async function serverStart(socket: string): Promise<string> {
  const { ino, mtimeNs } = await stat(socket, { bigint: true });
  return `${ino}-${mtimeNs}`;
}
