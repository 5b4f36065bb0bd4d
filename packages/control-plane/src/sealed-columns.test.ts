import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { nameOf } from "#platform/db/rewrap.ts";
import { sealedColumns } from "./sealed-columns.ts";

/** What each file seals. Its column is declared in `sealed-columns.ts`, or the key of the ring could never be removed. */
const sealing: Record<string, readonly string[]> = {
  "auth/authorization-server.ts": ["signing_keys.jwk"],
  "auth/record-store.ts": ["auth_records.payload"],
  "databases/api/create-database.ts": ["databases.admin_password"],
  "databases/archive/keys.ts": ["archives.identity", "keyrings.keyring"],
  "databases/recovery/recover-adopted.ts": ["databases.admin_password"],
  "databases/recovery/recover-changes.ts": ["databases.admin_password"],
  "databases/spec/cluster-store.ts": ["clusters.authority", "clusters.group_password"],
  "databases/updates/reset-credentials.ts": ["databases.admin_password"],
  "fleet/derive-secret.ts": ["installation.derivation_secret"],
  "mail/mail-store.ts": ["mails.message"],
  // By keys of its own, which are derived from the ring: `idempotency_keys.key_id` names the one.
  "platform/http/idempotency.ts": [],
  "sign-in/record-store.ts": ["auth_records.payload"],
  "sign-in/totp.ts": ["users.tfa_offered_secret", "users.tfa_secret"],
  "transfers/transfer.ts": ["transfers.token"],
};

test("every column that a file seals is declared, and no other", () => {
  const files = globSync("**/*.ts", { cwd: import.meta.dirname })
    .filter((path) => !path.endsWith(".test.ts") && !path.startsWith("testing/"))
    .filter((path) => /\.seal\(/.test(readFileSync(`${import.meta.dirname}/${path}`, "utf8")));

  expect(files.toSorted()).toEqual(Object.keys(sealing).toSorted());
  expect([...new Set(Object.values(sealing).flat())].toSorted()).toEqual(sealedColumns.map(nameOf).toSorted());
});
