import fc from "fast-check";
import { expect, test } from "vitest";
import { testSpec } from "../testing/node-spec.ts";
import { configFile, sizesOf } from "./config-file.ts";

const plans: [number, number, ReturnType<typeof sizesOf>][] = [
  [512, 1024, { bufferPoolMb: 64, redoLogMb: 32, maxConnections: 60 }],
  [1024, 25_600, { bufferPoolMb: 448, redoLogMb: 224, maxConnections: 102 }],
  [4096, 81_920, { bufferPoolMb: 2656, redoLogMb: 1328, maxConnections: 409 }],
  [65_536, 1_310_720, { bufferPoolMb: 42_592, redoLogMb: 8192, maxConnections: 4000 }],
];
test.each(plans)("%i MB of memory and %i MB of disk", (memory_mb, disk_mb, sizes) => {
  expect(sizesOf({ memory_mb, disk_mb, vcpus: 1 })).toEqual(sizes);
});

test("the buffer pool takes at most two thirds of a plan's memory, in whole chunks", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 512, max: 1_000_000 }),
      fc.integer({ min: 1024, max: 10_000_000 }),
      (memory_mb, disk_mb) => {
        const { bufferPoolMb, redoLogMb } = sizesOf({ memory_mb, disk_mb, vcpus: 1 });
        expect(bufferPoolMb).toBeLessThanOrEqual(memory_mb * 0.66);
        expect(bufferPoolMb % 32).toBe(0);
        expect(redoLogMb).toBeLessThanOrEqual(Math.max(32, disk_mb / 16));
      },
    ),
  );
});

test("the file starts with the data directory's settings and adds the node's own", () => {
  const text = configFile("[mysqld]\ngtid_mode = ON\n", testSpec({ server_id: 42 }));
  expect(text.startsWith("[mysqld]\ngtid_mode = ON\n")).toBe(true);
  expect(text).toMatch(/^report_host = 198\.18\.77\.64$/m);
  expect(text).toMatch(/^server_id = 42$/m);
  expect(text).toMatch(/^sync_binlog = 1$/m);
  expect(text).toMatch(/^require_secure_transport = ON$/m);
});

test("a node with a certificate uses it; the file of a node without one has no TLS settings", () => {
  const tls = { names: ["db-1-mysql-primary.moorage.test"], version: 1 };
  expect(configFile("", testSpec({ tls }))).toMatch(/^ssl_cert = \/etc\/mysql\/tls\/server\.pem$/m);
  expect(configFile("", testSpec())).not.toContain("ssl_");
});
