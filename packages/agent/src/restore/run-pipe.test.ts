import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import { runPipe } from "./run-pipe.ts";

afterEach(() => vi.unstubAllEnvs());

test("a pipeline does not run the user's shell start-up files", async () => {
  const home = mkdtempSync(join(tmpdir(), "moorage-home-"));
  writeFileSync(join(home, ".bashrc"), "echo from the file of the user\n");
  // As a service starts it: bash skips its start-up files in a shell inside another one.
  vi.stubEnv("HOME", home);
  vi.stubEnv("SHLVL", undefined);
  const pipe = runPipe("cat", [], new AbortController().signal);
  pipe.stdin.end("what was written");
  expect(await text(pipe.stdout)).toBe("what was written");
  await pipe.ended;
  rmSync(home, { recursive: true });
});

test("a failing program fails the whole pipeline", async () => {
  const pipe = runPipe("false | cat", [], new AbortController().signal);
  await expect(pipe.ended).rejects.toThrow("it ended with 1");
});
