import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Sandboxed, startSandboxed } from "./confine.ts";

/** Perl makes any system call. In the sandbox it stands for a reader that the bytes of an upload have taken over. */
const limits = { cpuSeconds: 60, dataBytes: 200 * 1024 ** 2 };
async function startPerl(program: string, perl = "/usr/bin/perl"): Promise<Sandboxed> {
  const sandboxed = await startSandboxed({ command: [perl], stdio: ["pipe", "pipe", "pipe"], limits });
  sandboxed.process.stdin?.end(program);
  return sandboxed;
}

/** What the program printed, its errors too. */
async function outputOf({ process: { stdout, stderr } }: Sandboxed): Promise<string> {
  if (stdout === null || stderr === null) throw new Error("no pipes");
  return (await Promise.all([text(stdout), text(stderr)])).join("");
}

const inSandbox = async (program: string): Promise<string> => outputOf(await startPerl(program));
const report = (attempt: string): string => `$! = 0; print((${attempt}) ? "succeeded" : "failed: " . ($! + 0))`;

const [ENOENT, EROFS, ENOSYS] = [2, 30, 38];
const folder = mkdtempSync(join(tmpdir(), "moorage-sandbox-"));
const keyRing = join(folder, "keys.json");
let other: Sandboxed;
let otherPid: number | undefined;

beforeAll(async () => {
  // Whatever protects it in the tests, it is not its mode.
  writeFileSync(keyRing, "the key ring", { mode: 0o644 });
  other = await startPerl('my $secret = "of another tenant"; $| = 1; print "ready"; sleep 3600');
  otherPid = await other.pid;
});
afterAll(() => {
  if (otherPid !== undefined) process.kill(otherPid, "SIGKILL");
  rmSync(folder, { recursive: true });
});

test("a program in the sandbox runs and prints", async () => {
  expect(await inSandbox('print "here"')).toBe("here");
});

test("its program may lie where only root can reach it", async () => {
  const hidden = join(folder, "perl");
  copyFileSync("/usr/bin/perl", hidden);
  expect(await outputOf(await startPerl('print "here"', hidden))).toBe("here");
});

test.each<[what: string, attempt: () => string, errno: number]>([
  ["read the memory of another import through /proc", () => `open(my $f, "<", "/proc/${otherPid}/mem")`, ENOENT],
  ["list processes", () => 'opendir(my $d, "/proc")', ENOENT],
  ["trace another import (ptrace)", () => `syscall(101, 16, ${otherPid}, 0, 0) == 0`, ENOSYS],
  ["read another import's memory (process_vm_readv)", () => `syscall(310, ${otherPid}, 0, 0, 0, 0, 0) == 0`, ENOSYS],
  ["signal another import", () => `kill(9, ${otherPid})`, ENOSYS],
  ["read the key ring", () => `open(my $f, "<", "${keyRing}")`, ENOENT],
  ["read the users of the machine", () => 'open(my $f, "<", "/etc/passwd")', ENOENT],
  ["write a file", () => 'open(my $f, ">", "/file")', EROFS],
  ["open an IPv4 socket", () => "socket(my $s, 2, 1, 0)", ENOSYS],
  ["open an IPv6 socket", () => "socket(my $s, 10, 2, 0)", ENOSYS],
  ["open a Unix socket", () => "socket(my $s, 1, 1, 0)", ENOSYS],
  ["open a netlink socket", () => "socket(my $s, 16, 3, 0)", ENOSYS],
  ["make a user namespace", () => "syscall(272, 0x10000000) == 0", ENOSYS],
  ["mount", () => 'syscall(165, my $a = "none", my $b = "/", my $c = "tmpfs", 0, 0) == 0', ENOSYS],
  ["enter a namespace", () => "syscall(308, 0, 0) == 0", ENOSYS],
  ["start a process (fork)", () => "defined(fork())", ENOSYS],
  ["start a process (vfork)", () => "syscall(58) >= 0", ENOSYS],
  ["start a process (clone3)", () => "syscall(435, 0, 0) >= 0", ENOSYS],
  ["use a kernel keyring", () => "syscall(250, 0, -3, 1) >= 0", ENOSYS],
  ["load a bpf program", () => "syscall(321, 0, 0, 0) >= 0", ENOSYS],
  ["use io_uring", () => "syscall(425, 1, 0) >= 0", ENOSYS],
  ["get shared memory", () => "syscall(9, 0, 4096, 3, 0x21, -1, 0) > 0", ENOSYS],
  ["make a file in memory", () => 'syscall(319, my $n = "x", 0) >= 0', ENOSYS],
  ["change the limits of another process", () => "syscall(302, 1, 2, 0, 0) == 0", ENOSYS],
])("the reader cannot %s", async (_what, attempt, errno) => {
  expect(await inSandbox(report(attempt()))).toBe(`failed: ${errno}`);
});

test("memory ends at the limit, and takes only the reader with it", async () => {
  const bomb = 'print "begun "; my @kept; push @kept, "x" x 4_000_000 for 1 .. 100; print "all"';
  expect(await inSandbox(bomb)).toMatch(/^(begun )?Out of memory!/);
});

test("two imports of a worker that is root have different users, which nobody else has", async () => {
  if (process.getuid?.() !== 0) return;
  const users = await Promise.all([inSandbox("print $<"), inSandbox("print $<")]);
  expect(new Set(users).size).toBe(2);
  for (const user of users.map(Number)) {
    expect(user).toBeGreaterThanOrEqual(2_010_000_000);
    expect(user).toBeLessThan(2_077_108_864);
  }
});

test("the reader of a worker that is not root cannot read the files of the worker", async () => {
  const module = JSON.stringify(new URL("confine.ts", import.meta.url).href);
  const perl = JSON.stringify(report(`open(my $f, "<", "${keyRing}")`));
  const worker = `
    import { startSandboxed } from ${module};
    const { process: reader } = await startSandboxed({ command: ["/usr/bin/perl"],
      stdio: ["pipe", process.stdout, process.stderr], limits: ${JSON.stringify(limits)} });
    reader.stdin.end(${perl});`;
  const user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"];
  const command = [
    ...(process.getuid?.() === 0 ? user : []),
    process.execPath,
    "--input-type=module",
    "--eval",
    worker,
  ];
  const [program = "", ...args] = command;
  const parent = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  expect(await outputOf({ process: parent, pid: Promise.resolve(undefined) })).toBe(`failed: ${ENOENT}`);
});
