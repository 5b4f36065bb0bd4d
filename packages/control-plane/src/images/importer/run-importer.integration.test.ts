import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { noise } from "./testing/disks.ts";
import { member } from "./testing/gzip-file.ts";
import { defaultBounds } from "./testing/import-file.ts";
import { type ImportOrder, runImporter } from "./run-importer.ts";

const MB = 1024 ** 2;
const upload = member(noise(3 * MB));
const never = new Promise<never>(() => {});

/** An upload that arrives completely. */
const order = (change: Partial<ImportOrder> = {}): ImportOrder => ({
  source: Readable.from([Buffer.from(upload)], { objectMode: false }),
  expectedBytes: upload.length,
  bounds: defaultBounds,
  signal: new AbortController().signal,
  put: async () => {},
  progress: () => {},
  ...change,
});
/** An upload that stalls after its beginning. */
const stalled = (): Readable =>
  Readable.from(
    (async function* () {
      yield upload.subarray(0, 1000);
      await never;
    })(),
    { objectMode: false },
  );

const until = async <T>(check: () => T | undefined): Promise<T> => {
  for (;;) {
    const found = check();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const parentOf = (pid: number): number =>
  Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
/** The process that reads, once it was executed in its sandbox. */
const childOf = (pid: number): number | undefined =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((each) => {
      try {
        const [, first, ...rest] = readFileSync(`/proc/${each}/cmdline`, "utf8").split("\0");
        const isReader = first === "--permission" && rest.some((argument) => argument.includes("uploadBytes"));
        return isReader && parentOf(parentOf(each)) === pid;
      } catch {
        return false;
      }
    });

test("the child reads in a sandbox: namespaces of its own, no rights, a filter of system calls, no environment", async () => {
  const stop = new AbortController();
  const running = runImporter(order({ source: stalled(), signal: stop.signal }));
  const pid = await until(() => childOf(process.pid));
  const status = readFileSync(`/proc/${pid}/status`, "utf8");

  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).toMatch(/^CapBnd:\s+0+$/m);
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(status).toMatch(/^Seccomp:\s+2$/m);
  for (const namespace of ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"])
    expect(readlinkSync(`/proc/${pid}/ns/${namespace}`)).not.toBe(readlinkSync(`/proc/self/ns/${namespace}`));
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean);
  expect(environment.filter((each) => !each.startsWith("MALLOC_"))).toEqual(["PWD=/"]);
  const mounted = readFileSync(`/proc/${pid}/mountinfo`, "utf8").trimEnd().split("\n");
  expect(mounted.filter((line) => !/ ro,nosuid,nodev,/.test(line))).toEqual([]);
  expect(
    mounted.map((line) => line.split(" ")[4]).filter((path) => !/^\/$|\/node$|\.so(\.\d+)*$/.test(path ?? "")),
  ).toEqual([]);

  stop.abort(new Error("enough"));
  await expect(running).rejects.toThrow("enough");
});

test("aborting returns the reason, and no process remains", async () => {
  const stop = new AbortController();
  const running = runImporter(order({ source: stalled(), signal: stop.signal }));
  const pid = await until(() => childOf(process.pid));
  stop.abort(new Error("the image was deleted"));
  await expect(running).rejects.toThrow("the image was deleted");
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test("aborted before the start, it reads nothing", async () => {
  await expect(runImporter(order({ signal: AbortSignal.abort(new Error("too late")) }))).rejects.toThrow("too late");
});

test.each([
  ["fewer", upload.length + 1, "The store gave"],
  ["more", upload.length - 1, "The store gave more than"],
])("%s bytes than the store announced are an internal fault, not a refusal", async (_what, expectedBytes, fault) => {
  await expect(runImporter(order({ expectedBytes }))).rejects.toThrow(fault);
});

test("a store that breaks off is an internal fault", async () => {
  const source = Readable.from(
    (async function* () {
      yield upload.subarray(0, 100_000);
      throw new Error("connection reset");
    })(),
    { objectMode: false },
  );
  await expect(runImporter(order({ source }))).rejects.toThrow("connection reset");
});

test("a chunk that cannot be stored is an internal fault", async () => {
  const put = () => Promise.reject(new Error("the store is full"));
  await expect(runImporter(order({ put }))).rejects.toThrow("the store is full");
});

test("a store that sends nothing more is awaited up to a limit, and is an internal fault", async () => {
  await expect(runImporter(order({ source: stalled(), bounds: { ...defaultBounds, seconds: 1 } }))).rejects.toThrow(
    "The import did not end within 1 seconds.",
  );
});

test("too much memory is an internal fault", async () => {
  const bounds = { ...defaultBounds, memoryBytes: 10 * MB };
  await expect(runImporter(order({ source: stalled(), bounds }))).rejects.toThrow("MB of memory");
});

test("a killed child is an internal fault", async () => {
  const running = runImporter(order({ source: stalled() }));
  process.kill(await until(() => childOf(process.pid)), "SIGKILL");
  await expect(running).rejects.toThrow("The importer ended without a verdict: code 137");
});

test("the child dies with its parent", async () => {
  const program = `
    import { Readable } from "node:stream";
    import { runImporter } from ${JSON.stringify(new URL("run-importer.ts", import.meta.url).href)};
    import { defaultBounds } from ${JSON.stringify(new URL("testing/import-file.ts", import.meta.url).href)};
    await runImporter({ source: new Readable({ read() {} }), expectedBytes: 1000, bounds: defaultBounds,
      put: async () => {}, progress: () => {}, signal: new AbortController().signal });`;
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "ignore" });
  const pid = await until(() => (parent.pid === undefined ? undefined : childOf(parent.pid)));
  parent.kill("SIGKILL");
  expect(await until(() => (existsSync(`/proc/${pid}`) ? undefined : "gone"))).toBe("gone");
});

test("few chunks are in progress at once, all are stored before the end, and little is read ahead", async () => {
  const large = member(noise(160 * MB), { level: 0 });
  let [read, underWay, most, ahead, put] = [0, 0, 0, 0, 0];
  const full = Promise.withResolvers<void>();
  const source = Readable.from(
    (function* () {
      for (; read < large.length; read += 65_536) yield large.subarray(read, read + 65_536);
    })(),
    { objectMode: false },
  );
  const outcome = await runImporter(
    order({
      source,
      expectedBytes: large.length,
      async put(_name, body) {
        most = Math.max(most, ++underWay);
        // All wait for the fourth, and it leaves time for a fifth to arrive.
        if (underWay === 4) setTimeout(full.resolve, 1000);
        await full.promise;
        ahead = Math.max(ahead, read - put);
        put += body.length;
        underWay--;
      },
    }),
  );
  expect(outcome).toMatchObject({ kind: "taken", manifest: { raw_bytes: 160 * MB, stored_bytes: put } });
  expect({ underWay, most }).toEqual({ underWay: 0, most: 4 });
  // Chunks being stored, chunks that wait, and what pipes hold.
  expect(ahead).toBeLessThan(80 * MB);
});

test("progress is reported up to the whole upload", async () => {
  const large = member(noise(40 * MB), { level: 0 });
  const reported: number[] = [];
  const source = Readable.from([Buffer.from(large)], { objectMode: false });
  await runImporter(order({ source, expectedBytes: large.length, progress: (bytes) => reported.push(bytes) }));
  expect(reported.length).toBeGreaterThanOrEqual(4);
  expect(reported).toEqual(reported.toSorted((a, b) => a - b));
  expect(reported.at(-1)).toBeLessThanOrEqual(large.length);
});
