/** The stack's mail server: stores every mail as a file and forwards none. */
import { randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { callbackify } from "node:util";
import { SMTPServer } from "smtp-server";

const { MAIL_DIR: folder = "", MAIL_PORT: port = "" } = process.env;

/** The file name sorts by time. The file appears complete, because tests read the folder while mails arrive. */
async function keep(message: Readable): Promise<void> {
  const name = `${new Date().toISOString().replaceAll(":", "-")}-${randomBytes(3).toString("hex")}.eml`;
  const partial = join(folder, `.${name}`);
  await writeFile(partial, message, { mode: 0o600 });
  await rename(partial, join(folder, name));
}

const take = callbackify(keep);
const server = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  onData: (stream, _session, done) => take(stream, done),
});

server.on("error", (error) => console.error(error.message));
server.listen(Number(port), "127.0.0.1", () => console.log(`taking letters at port ${port}, into ${folder}`));
process.once("SIGTERM", () => server.close(() => process.exit()));
