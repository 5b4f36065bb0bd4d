import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import type { Text } from "@moorage/contract/texts";
import { paths } from "./provider.ts";
import { oauthTexts } from "./texts.ts";

/** Minimum interval between two polls of a device. */
export const POLL_SECONDS = 5;

type Answer = Record<string, unknown>;
const isAnswer = (body: unknown): body is Answer => typeof body === "object" && body !== null;

/** The provider's messages do not reveal what was wrong. Neither do these, but they name what to do. */
const advice: Record<string, Text> = {
  invalid_grant: oauthTexts.grantInvalid(),
  invalid_client: oauthTexts.clientInvalid(),
};

/** Adapts the provider's answers to what clients of this API family expect. */
export function polishAnswers(provider: Provider): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as unknown as KoaContextWithOIDC;
    if (!isAnswer(ctx.body)) return;
    if (ctx.path.startsWith("/.well-known/")) polishDiscovery(ctx.body);
    if (ctx.path === paths.token && ctx.status === 200) polishToken(ctx.body);
    if (ctx.path === paths.deviceAuthorization && ctx.status === 200) polishDevice(ctx.body);
    const description = advice[String(ctx.body.error)];
    if (description !== undefined) ctx.body.error_description = description.text;
  });
}

/** SDKs read `scopes`; the API description says `scope`. */
const polishToken = (body: Answer): Answer => Object.assign(body, { token_type: "bearer", scopes: body.scope ?? "" });

/**
 * Without a link that contains the code: an attacker could send it to a person, who would then authorize the attacker's
 * device.
 */
function polishDevice(body: Answer): void {
  delete body.verification_uri_complete;
  body.interval = POLL_SECONDS;
}

/** Only what an app can use. */
const polishDiscovery = (body: Answer): Answer =>
  Object.assign(body, { response_types_supported: ["code"], response_modes_supported: ["query"] });
