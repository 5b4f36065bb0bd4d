import { inWords, oauth, serverAt } from "./authorization-server.ts";

/** Ends a token that `moorage login` got. One that has ended already is no fault. */
export async function revokeLogin(issuer: string, token: string): Promise<void> {
  const config = await serverAt(issuer);
  const { tokenRevocation } = await oauth();
  await inWords(issuer, () => tokenRevocation(config, token));
}
