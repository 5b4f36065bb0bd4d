import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { moorage } from "../bin/main.ts";

async function scriptFor(shell: string): Promise<string> {
  let printed = "";
  const nothing = (): void => {};
  const terminal = {
    env: {},
    print: (text: string) => (printed += text),
    printError: nothing,
    write: nothing,
    progress: nothing,
  };
  await moorage(["completion", shell], {
    ...terminal,
    input: async () => "",
    secret: async () => "",
    prompt: async () => undefined,
  });
  return printed;
}

const bash = await scriptFor("bash");
/** What bash offers after these words; the last word is incomplete. */
function offered(...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const completionScript = `COMP_WORDS=(moorage ${line}); COMP_CWORD=${words.length}; _moorage; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", `${bash}\n${completionScript}`], { encoding: "utf8" })
    .split("\n")
    .filter(Boolean);
}

test("bash completes commands, options and known values", () => {
  expect(offered("d")).toEqual(["db"]);
  expect(offered("db", "con")).toEqual(["connect"]);
  expect(offered("db", "backup", "")).toEqual(expect.arrayContaining(["create", "restore"]));
  expect(offered("--json", "db", "create", "--cluster")).toEqual(["--cluster-size"]);
  expect(offered("db", "create", "--cluster-size", "")).toEqual(["1", "3"]);
  expect(offered("db", "list", "--order-by", "st")).toEqual(["status"]);
  expect(offered("db", "show", "--pro")).toEqual(["--profile"]);
  expect(offered("ad")).toEqual(["admin"]);
  expect(offered("admin", "ho")).toEqual(["host"]);
  expect(offered("admin", "host", "add", "--failure")).toEqual(["--failure-domain"]);
  expect(offered("admin", "image", "link", "private/1", "--format", "")).toEqual(["raw", "gzip"]);
});

test("zsh and fish complete the same commands, with descriptions", async () => {
  expect(await scriptFor("zsh")).toContain("'create:Create a MySQL database'");
  const fish = await scriptFor("fish");
  expect(fish).toContain(
    `complete -c moorage -n "test (__moorage_at) = '/db'" -f -a create -d 'Create a MySQL database'`,
  );
  expect(fish).toContain(`-l cluster-size -r -d '1 or 3 (default: 1)' -f -a '1 3'`);
});
