import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { syscallProbe } from "../testing/syscall-probe.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
const node = randomUUID();
const uid = 2_000_000_001;
const folder = (...path: string[]) => join(host.state, "nodes", node, ...path);

beforeAll(async () => {
  host = await makeTestHost("moor-t-scmp", "198.18.82");
  gateway = await startFakeGateway(host.outside, 14482, enrolToken);
  host.known(node);
  host.startAgent(agentEnvironment(host, gateway));
  const network = { address: host.address(1), port: 20_001 };
  gateway.setDesired(testSpec({ node, engine: builtEngine, network, uid, firewall: { sources: [] } }));
  await until("the node", () => gateway.latest(node)?.state === "running");
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

/** Makes the call inside the live node, as its user, and returns its error number. The server's folders are noexec. */
function errorOf(number: number, args: number[]): number {
  writeFileSync(folder("start-up", "probe"), syscallProbe(number, ...args), { mode: 0o755 });
  const container = `moorage-${node}`;
  const run = ["exec", "--user", `${uid}:${uid}`, container, "sh", "-c", "/etc/mysql/start-up/probe; echo $?"];
  return Number(host.podman(...run));
}

const [notImplemented, badAddress] = [38, 14];
const [packet, raw, netfilter] = [17, 3, 12];
test.each([
  ["unshare of a user namespace", 272, [0x10_00_00_00]],
  ["clone into a user namespace", 56, [0x10_00_00_11]],
  ["clone3", 435, [0, 0]],
  ["setns", 308, [0, 0]],
  ["mount", 165, [0, 0, 0, 0]],
  ["fsopen", 430, [0, 0]],
  ["open_tree", 428, [0, 0, 1]],
  ["move_mount", 429, [0, 0, 0, 0]],
  ["pivot_root", 155, [0, 0]],
  ["chroot", 161, [0]],
  ["ptrace", 101, [0, 0, 0, 0]],
  ["process_vm_readv", 310, [1, 0, 0, 0]],
  ["pidfd_getfd", 438, [0, 0, 0]],
  ["keyctl", 250, [0, -3, 0]],
  ["add_key", 248, [0, 0, 0, 0]],
  ["request_key", 249, [0, 0, 0, 0]],
  ["bpf", 321, [0, 0, 0]],
  ["io_uring_setup", 425, [1, 0]],
  ["userfaultfd", 323, [0]],
  ["perf_event_open", 298, [0, 0, -1, -1]],
  ["open_by_handle_at", 304, [0, 0, 0]],
  ["symlink", 88, [0, 0]],
  ["link", 86, [0, 0]],
  ["mknod", 133, [0, 0, 0]],
  ["a packet socket", 41, [packet, raw, 0]],
  ["a netfilter socket", 41, [16, raw, netfilter]],
])("the kernel refuses a node %s", (_, number, args) => {
  expect(errorOf(number, args)).toBe(notImplemented);
});

test("what a server needs is not refused, such as io_setup and io_pgetevents", () => {
  expect([errorOf(206, [1, 0]), errorOf(333, [0, 0, 0, 0]), errorOf(39, [])]).not.toContain(notImplemented);
  expect(errorOf(206, [1, 0])).toBe(badAddress);
});

const shell = (command: string): string =>
  host.podman("exec", "--user", `${uid}:${uid}`, `moorage-${node}`, "sh", "-c", `(${command}) >&2; echo $?`).trim();
/** The image has neither `find` nor `grep`. */
const anyOf = (files: string, condition: string): string =>
  `for f in ${files}; do if [ ${condition} "$f" ]; then exit 0; fi; done; exit 1`;

test.each([
  ["write to its root file system", "touch /etc/own"],
  ["replace a program", "touch /usr/sbin/mysqld"],
  ["write where its server reads statements at its start", "touch /etc/mysql/start-up/own"],
  ["write to its server's certificate", "touch /etc/mysql/tls/own"],
  ["change a setting of the kernel", "echo /own > /proc/sys/kernel/core_pattern"],
  ["send the kernel a command", "echo h > /proc/sysrq-trigger"],
  ["read the kernel's memory", 'test -n "$(head -c 1 /proc/kcore)"'],
  ["read the kernel's key rings", 'test -n "$(head -c 1 /proc/keys)"'],
  ["raise its memory limit", "echo max > /sys/fs/cgroup/memory.max"],
  ["change a device of the kernel", "echo 1 > /sys/block/loop0/queue/read_ahead_kb"],
  ["find a disk", anyOf("/dev/loop* /dev/sd* /dev/vd* /dev/nvme* /dev/dm-* /dev/mem /dev/kmsg /dev/fuse", "-e")],
  ["find a program of another user's rights", anyOf("/bin/* /sbin/* /usr/bin/* /usr/sbin/*", "-u")],
  ["find a program of another group's rights", anyOf("/bin/* /sbin/* /usr/bin/* /usr/sbin/*", "-g")],
  ["find a process that is not its own", "set -- /proc/[0-9]*; test $# -gt 6"],
])("a process in a node cannot %s", (_, command) => {
  expect(shell(command)).not.toBe("0");
});

test.each(["/volume/data", "/run/mysqld"])("a process in a node cannot execute what it writes to %s", (writable) => {
  expect(shell(`cp /bin/true ${writable}/own && chmod 755 ${writable}/own`)).toBe("0");
  expect(shell(`${writable}/own`)).toBe("126");
  expect(shell(`rm ${writable}/own`)).toBe("0");
});

test("the host allows as much asynchronous I/O as 4,094 servers reserve", () => {
  const [reserved, most] = ["aio-nr", "aio-max-nr"].map((name) => Number(readFileSync(`/proc/sys/fs/${name}`, "utf8")));
  expect(reserved).toBeGreaterThan(0);
  expect(most).toBeGreaterThanOrEqual(4094 * 2305);
});

test("the server uses native asynchronous I/O, and logs no error about it", async () => {
  const used = await withPatientRoot(folder("run", "mysqld.sock"), async (connection) => {
    const [rows] = await connection.query("SELECT @@GLOBAL.innodb_use_native_aio AS used");
    return (rows as { used: number }[])[0]?.used;
  });
  const log = readFileSync(
    host.podman("inspect", "--format", "{{.HostConfig.LogConfig.Path}}", `moorage-${node}`).trim(),
    "utf8",
  );
  expect([used, log.split("\n").filter((line) => /aio|io_setup|io_submit|io_getevents/i.test(line))]).toEqual([1, []]);
});
