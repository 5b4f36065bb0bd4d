import { createAdminClient, type AdminClient, Refused } from "./admin-client.ts";

/** Where the operator's commands go, and what they prove themselves with. */
export function adminClient(): AdminClient {
  return createAdminClient(setting("MOORAGE_ADMIN_URL"), setting("MOORAGE_OPERATOR_TOKEN"));
}

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "")
    throw new Refused(`${name} is not set. In the development stack: . .stack/env`);
  return value;
}
