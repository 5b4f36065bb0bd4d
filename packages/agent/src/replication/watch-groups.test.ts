import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GroupReport, NodeSpec } from "@moorage/contract/agent";
import { removeFolder } from "@moorage/testkit/folders.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { hostPaths } from "../base/host-paths.ts";
import { memberSpec } from "../testing/node-spec.ts";
import { createFollowingMemories } from "./following/following-memory.ts";
import { watchGroups } from "./watch-groups.ts";

test("a look counts for the spec of the node's last run, not for a newer one that no run has begun with", async () => {
  const dir = mkdtempSync(join(tmpdir(), "moor-look-"));
  const stop = new AbortController();
  const stored = memberSpec(0, { generation: 6 });
  let taken: NodeSpec | undefined;
  const reports: GroupReport[] = [];
  const watching = watchGroups(
    {
      host: hostPaths(dir),
      podman: undefined as never,
      enginesDir: dir,
      clock: () => new Date(),
      log: pino({ level: "silent" }),
      viewsOf: async () => undefined,
      following: createFollowingMemories(),
      store: { all: () => [stored] },
      takenSpec: () => taken,
      reporter: { setGroup: (_, group) => void reports.push(group), get: () => undefined },
      wake: () => {},
    },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await watching;
    removeFolder(dir);
  });

  const seen = () => reports.map(({ seen_by }) => seen_by?.generation);
  taken = { ...stored, generation: 5 };
  await expect.poll(seen).toContain(5);
  expect(seen()).not.toContain(6);
  taken = stored;
  await expect.poll(seen).toContain(6);
});
