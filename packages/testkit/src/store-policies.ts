import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The identities of docs/operating/object-store.md, with the policies that operators copy from there. */
export const storeIdentities = ["api", "fleet", "worker", "image-server", "purge"] as const;
export type StoreIdentity = (typeof storeIdentities)[number];
export type StoreKey = { access: string; secret: string };

const folder = join(import.meta.dirname, "../../../docs/operating/object-store");

type Statement = { Sid: string; Effect: string; Action: string[]; Resource: string[] };
/** The buckets that the policies name. */
export type NamedBucket = "moorage-archive" | "moorage-images";

/**
 * The policies as one policy of a bucket: versitygw has accounts and bucket policies, and no policies of accounts.
 * `stands`: the named buckets that this one stands for.
 */
export function bucketPolicy(
  bucket: string,
  stands: readonly NamedBucket[],
  keys: Record<StoreIdentity, StoreKey>,
): string {
  const resource = new RegExp(`^arn:aws:s3:::(?:${stands.join("|")})(?=/|$)`);
  const statements = storeIdentities.flatMap((identity) => {
    const text = readFileSync(join(folder, `${identity}.json`), "utf8");
    return (JSON.parse(text) as { Statement: Statement[] }).Statement.flatMap(({ Resource, ...statement }) => {
      const here = Resource.filter((each) => resource.test(each));
      if (here.length === 0) return [];
      const Principal = { AWS: [keys[identity].access] };
      return [{ ...statement, Sid: `${identity}${statement.Sid}`, Principal, Resource: here.map(renamed) }];
    });
  });
  return JSON.stringify({ Version: "2012-10-17", Statement: statements });

  function renamed(each: string): string {
    return each.replace(resource, `arn:aws:s3:::${bucket}`);
  }
}

/** `users.json` in the folder of versitygw's own accounts. */
export function accountsFile(keys: Iterable<StoreKey>): string {
  const accounts = Array.from(keys, ({ access, secret }) => [
    access,
    { access, secret, role: "user", userID: 0, groupID: 0, projectID: 0 },
  ]);
  return JSON.stringify({ accessAccounts: Object.fromEntries(accounts) });
}
