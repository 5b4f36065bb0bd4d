import type { Terminal } from "../terminal.ts";
import { inWords, oauth, serverAt } from "./authorization-server.ts";
import { texts } from "./texts.ts";

export type Login = {
  /** The authorization server. */
  issuer: string;
  scope: string;
  /** The name of this computer, by which people recognise the login later. */
  machine: string;
  terminal: Terminal;
};

/** Signs in with a browser on any computer: the person types in the code that is printed here (RFC 8628). */
export async function signInByDeviceCode({ issuer, scope, machine, terminal }: Login): Promise<string> {
  const config = await serverAt(issuer);
  const client = await oauth();
  return inWords(issuer, async () => {
    const device = await client.initiateDeviceAuthorization(config, { scope, device_name: machine });
    const minutes = Math.floor(device.expires_in / 60);
    const { verification_uri: address, user_code: userCode } = device;
    terminal.printError(texts.deviceCode({ address, minutes, userCode }).text);
    const tokens = await client.pollDeviceAuthorizationGrant(config, device);
    return tokens.access_token;
  });
}
