import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { announceReady } from "./announce-ready.ts";
import { releaseText } from "./release.ts";

const receiver = `
import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as it:
  it.bind(sys.argv[1])
  print("bound", file=sys.stderr, flush=True)
  print(it.recv(4096).decode())
`;

function newSocket(): string {
  const folder = mkdtempSync(join(tmpdir(), "moorage-notify-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "notify");
}

test("systemd is told that the process is ready, with its version", async () => {
  const path = newSocket();
  const child = spawn("python3", ["-c", receiver, path], { stdio: ["ignore", "pipe", "pipe"] });
  await once(child.stderr, "data");
  const env = { ...process.env, NOTIFY_SOCKET: path };
  const [message] = await Promise.all([text(child.stdout), announceReady({ error: () => {} }, env)]);

  expect(
    message
      .trim()
      .split("\n")
      .toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(["READY=1", `STATUS=Moorage ${releaseText}`]);
  expect(env).not.toHaveProperty("NOTIFY_SOCKET");
});

test("a process that cannot reach systemd logs it and goes on", async () => {
  const logged: string[] = [];
  await announceReady(
    { error: (_fields, message) => logged.push(message) },
    { ...process.env, NOTIFY_SOCKET: newSocket() },
  );

  expect(logged).toEqual(["systemd was not told that the process is ready"]);
});
