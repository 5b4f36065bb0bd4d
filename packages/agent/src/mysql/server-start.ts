import { stat } from "node:fs/promises";

/** Another one with each start of a server, which makes its socket anew. */
export async function serverStart(socket: string): Promise<string> {
  const { ino, mtimeNs } = await stat(socket, { bigint: true });
  return `${ino}-${mtimeNs}`;
}
