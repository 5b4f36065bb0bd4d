import { listMysqlDatabases } from "@moorage/contract";
import { clientOf, isSignedIn } from "../profiles/connection.ts";

/** Suggests the tenant's next step. */
export async function tenantNextStep(
  env: Readonly<Record<string, string | undefined>>,
  profile: string | undefined,
): Promise<string> {
  if (!isSignedIn(env, profile)) return "Sign in: moorage login --url https://<the API's address>";
  const client = await clientOf(env, profile);
  const { data } = await client.call(listMysqlDatabases, { query: { page_size: 25 } });
  const [newest] = data.toSorted((one, other) => other.id - one.id);
  if (newest === undefined) return "No database yet. Make one: moorage db create --wait, which tells what it needs";
  if (newest.status === "provisioning") return `${newest.label} is being made: moorage db show ${newest.label}`;
  if (newest.allow_list.length === 0)
    return `Let your address reach ${newest.label}: moorage db update ${newest.label} --allow-list <address> --wait`;
  return `Use ${newest.label}: moorage db connect ${newest.label}`;
}
