import { inWords, oauth, serverAt } from "./authorization-server.ts";

/** Revokes a token that `moorage login` obtained. A token that has already ended is no error. */
export async function revokeLogin(issuer: string, token: string): Promise<void> {
  const config = await serverAt(issuer);
  const { tokenRevocation } = await oauth();
  await inWords(issuer, () => tokenRevocation(config, token));
}
