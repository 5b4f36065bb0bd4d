import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { buildRelease } from "./build-release.ts";

const release = inject("release");
const folder = mkdtempSync(join(tmpdir(), "moorage-release-again-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const debs = readdirSync(release).filter((file) => file.endsWith(".deb"));
const dpkg = (option: string, deb: string): string =>
  execFileSync("dpkg-deb", [option, join(release, deb)], { encoding: "utf8", maxBuffer: 1024 ** 3 });

type Entry = { mode: string; owner: string; path: string };
const entriesOf = (deb: string): Entry[] =>
  dpkg("--contents", deb)
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [mode = "", owner = "", , , , ...path] = line.split(/\s+/);
      return { mode, owner, path: path.join(" ") };
    });
const contents = new Map(debs.map((deb) => [deb, entriesOf(deb)]));
const all = [...contents.values()].flat();
const pathsLike = (pattern: RegExp): string[] => all.map(({ path }) => path).filter((path) => pattern.test(path));

test("the release has the packages of an installation", () => {
  const names = debs.map((deb) => deb.split("_")[0]);
  expect(names).toEqual(["moorage-agent", "moorage-control-plane", "moorage-node", "moorage"]);
  expect(Math.min(...[...contents.values()].map((entries) => entries.length))).toBeGreaterThan(5);
});

test("two builds in different folders are identical", () => {
  const digests = (of: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(of).map((file) => [
        file,
        createHash("sha256")
          .update(readFileSync(join(of, file)))
          .digest("hex"),
      ]),
    );
  const again = buildRelease(folder, join(release, "../checkout"));
  expect(digests(again)).toEqual(digests(release));
});

test("no package has a test, a type, or what only tests use", () => {
  const ours = /\/packages\/[^/]+\/src\/(.*\/)?testing\/|\/packages\/(testkit|client\/node_modules\/.*testkit)\//;
  expect(pathsLike(ours)).toEqual([]);
  expect(pathsLike(/\.(test|spec)\.[cm]?[jt]s$|\/__tests__\/|\.d\.[cm]?ts$/)).toEqual([]);
  expect(pathsLike(/\.pnpm\/(vitest|typescript|@biomejs|oxlint|playwright|knip|@types)[+@/]/)).toEqual([]);
});

test("every binary is for Linux on x86-64", () => {
  const binaries = pathsLike(/\.(node|so(\.[\d.]+)?|exe|dll|dylib)$|\/lib\/moorage\/node$/);
  const foreign = binaries.filter((path) => /darwin|win32|windows|aarch64|arm64|musl|\.(exe|dll|dylib)$/.test(path));
  expect(binaries.length).toBeGreaterThan(4);
  expect(foreign).toEqual([]);
});

test("everything belongs to root, and only root changes it", () => {
  expect(all.filter(({ owner }) => owner !== "root/root")).toEqual([]);
  expect(all.filter(({ mode }) => !mode.startsWith("l") && /^.{5}w|^.{8}w|[sStT]/.test(mode))).toEqual([]);
});

test("only root reads the files of settings", () => {
  const settings = all.filter(({ path }) => /^\.\/etc\/moorage\/.*\.env$/.test(path));
  expect(settings.length).toBeGreaterThan(8);
  expect(settings.filter(({ mode }) => mode !== "-rw-------")).toEqual([]);
});

test("the digests name every file of the release, and are right", () => {
  const listed = readFileSync(join(release, "SHA256SUMS"), "utf8").trim().split("\n");
  expect(listed.map((line) => line.split("  ")[1])).toEqual(
    readdirSync(release).filter((file) => file !== "SHA256SUMS"),
  );
  expect(() => execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: release })).not.toThrow();
});

test("the list of what is inside names the production dependencies and no others", () => {
  const bom = JSON.parse(readFileSync(join(release, "moorage-control-plane.cdx.json"), "utf8")) as {
    bomFormat: string;
    components: { name: string; group?: string }[];
  };
  const names = bom.components.map(({ name, group }) => (group === undefined ? name : `${group}/${name}`));
  expect(bom.bomFormat).toBe("CycloneDX");
  expect(names).toEqual(expect.arrayContaining(["fastify", "kysely", "@temporalio/worker"]));
  expect(names.filter((name) => /^(vitest|typescript|knip|playwright-core|@moorage\/testkit)$/.test(name))).toEqual([]);
});
