import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { z } from "zod";

const Text = z.string().max(8192);

/** The answer of a browser's authenticator: its form is checked here, its content by the library. */
const Credential = z.object({
  id: Text,
  rawId: Text,
  type: z.literal("public-key"),
  clientExtensionResults: z.object({}),
  response: z.object({
    clientDataJSON: Text,
    attestationObject: Text.optional(),
    authenticatorData: Text.optional(),
    signature: Text.optional(),
    userHandle: Text.optional(),
    transports: z.array(z.string().max(32)).max(10).optional(),
  }),
});

function parsed(json: string): unknown {
  try {
    return Credential.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

export const signedCredential = (json: string) => parsed(json) as AuthenticationResponseJSON | undefined;
export const newCredential = (json: string) => parsed(json) as RegistrationResponseJSON | undefined;
