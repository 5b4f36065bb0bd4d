import { createAdminClient, type AdminClient, Refused } from "./admin-client.ts";
import { texts } from "./texts.ts";

/** The client for operator commands; address and token come from the environment. */
export function adminClient(): AdminClient {
  return createAdminClient(setting("MOORAGE_ADMIN_URL"), setting("MOORAGE_OPERATOR_TOKEN"));
}

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Refused(texts.settingMissing({ name }));
  return value;
}
