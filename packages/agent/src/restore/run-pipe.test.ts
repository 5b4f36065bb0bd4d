import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import { runPipe } from "./run-pipe.ts";

afterEach(() => vi.unstubAllEnvs());

test("a pipeline runs no file of its user's first", async () => {
  const home = mkdtempSync(join(tmpdir(), "moorage-home-"));
  writeFileSync(join(home, ".bashrc"), "echo from the file of the user\n");
  // As a service is started: bash takes a shell inside of another one for no login.
  vi.stubEnv("HOME", home);
  vi.stubEnv("SHLVL", undefined);
  const pipe = runPipe("cat", [], new AbortController().signal);
  pipe.stdin.end("what was written");
  expect(await text(pipe.stdout)).toBe("what was written");
  await pipe.ended;
  rmSync(home, { recursive: true });
});

test("a part that fails is the failure of the whole", async () => {
  const pipe = runPipe("false | cat", [], new AbortController().signal);
  await expect(pipe.ended).rejects.toThrow("it ended with 1");
});
