import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const settings = {
  DATABASE_URL: "postgres://nobody@127.0.0.1:9/nothing",
  MOORAGE_KEYS_FILE: "/nowhere/keys.json",
  MOORAGE_AUTH_URL: "http://login.example.com",
};

/** Starts `auth` with these settings, and returns what it writes when it exits. */
const lastWordsOf = (env: Record<string, string>): Promise<string> =>
  new Promise((resolve) => {
    const program = join(import.meta.dirname, "auth.ts");
    execFile(process.execPath, [program], { env: { ...env, PATH: process.env["PATH"] } }, (_error, _out, errors) =>
      resolve(errors),
    );
  });

test("auth does not start if people would sign in over http, unless the operator allows it", async () => {
  expect(await lastWordsOf(settings)).toContain("MOORAGE_AUTH_URL must be an https URL");
  const allowed = await lastWordsOf({ ...settings, MOORAGE_HTTP_ALLOWED: "MOORAGE_AUTH_URL" });
  // It goes on to the next fault.
  expect(allowed).toContain("/nowhere/keys.json");
  expect(allowed).not.toContain("MOORAGE_AUTH_URL must");
});
