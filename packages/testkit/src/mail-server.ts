import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { callbackify } from "node:util";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";

/** A real mail server that stores what it receives. `refuse` rejects that many mails first. */
export async function startMailServer() {
  const mails: Email[] = [];
  const state = { refuse: 0 };
  const take = callbackify(async (message: Readable): Promise<void> => {
    const text = await buffer(message);
    if (state.refuse > 0) {
      state.refuse--;
      throw Object.assign(new Error("come back later"), { responseCode: 451 });
    }
    mails.push(await PostalMime.parse(text));
  });
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    onData: (stream, _session, done) => take(stream, done),
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (count: number) => {
      state.refuse = count;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}
