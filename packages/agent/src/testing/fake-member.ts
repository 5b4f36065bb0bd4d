import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** Capabilities and status of a greeting of protocol 10: TLS, plugins and 4.1 authentication, among others. */
const greeting = (): Buffer => {
  const scramble = "abcdefghijklmnopqrst";
  return Buffer.concat([
    Buffer.from([10]),
    Buffer.from("9.7.4\0"),
    Buffer.from([9, 0, 0, 0]),
    Buffer.from(`${scramble.slice(0, 8)}\0`),
    Buffer.from([0xff, 0xff, 255, 2, 0, 0xff, 0xdf, scramble.length + 1]),
    Buffer.alloc(10),
    Buffer.from(`${scramble.slice(8)}\0caching_sha2_password\0`),
  ]);
};
const packet = (number: number, body: Buffer): Buffer => {
  const header = Buffer.alloc(4);
  header.writeUIntLE(body.length, 0, 3);
  header.writeUInt8(number, 3);
  return Buffer.concat([header, body]);
};
/** "Your password is not in the cache: send it." Over TLS, clients send it in clear. */
const fullAuthentication = Buffer.from([1, 4]);

const tlsRequestBytes = 36;

/**
 * Pretends to be a server: greets, accepts TLS with its certificate, and asks whoever then logs in for the password in
 * clear. Keeps what it heard after the handshake.
 */
export async function startFakeMember(address: string, port: number, identity: { key: string; cert: string }) {
  const heard: Buffer[] = [];
  const visits = { count: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    visits.count += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.write(packet(0, greeting()));
    // What follows the request for TLS, perhaps in the same segment, belongs to the handshake.
    const onReadable = (): void => {
      if (socket.read(tlsRequestBytes) === null) return;
      socket.off("readable", onReadable);
      const options = { isServer: true, requestCert: true, rejectUnauthorized: false, ...identity };
      const secured = new TLSSocket(socket, options);
      secured.on("error", () => {});
      secured.on("data", (data: Buffer) => {
        heard.push(data);
        secured.write(packet(data.readUInt8(3) + 1, fullAuthentication));
      });
    };
    socket.on("readable", onReadable);
  });
  server.listen(port, address);
  await once(server, "listening");
  return {
    visits,
    heard: (): string => Buffer.concat(heard).toString("latin1"),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
