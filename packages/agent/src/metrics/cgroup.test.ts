import { expect, test } from "vitest";
import { groupOf } from "./cgroup.ts";

test("cgroup version 2 has one folder", () => {
  expect(groupOf("0::/libpod_parent/libpod-1\n")).toEqual({
    version: 2,
    folder: "/sys/fs/cgroup/libpod_parent/libpod-1",
  });
});

test("cgroup version 1 has a folder for each controller, some of them shared", () => {
  const text = "9:name=systemd:/\n4:memory:/a/libpod-1\n2:cpu,cpuacct:/b/libpod-1\n0::/\n";
  expect(groupOf(text)).toEqual({
    version: 1,
    cpu: "/sys/fs/cgroup/cpu,cpuacct/b/libpod-1",
    memory: "/sys/fs/cgroup/memory/a/libpod-1",
  });
});
