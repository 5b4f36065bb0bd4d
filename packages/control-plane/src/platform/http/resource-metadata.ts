import type { FastifyInstance } from "fastify";

/** Where people sign in for this API, for programs (RFC 9728). `moorage login` starts here. */
export function resourceMetadata(
  app: FastifyInstance,
  { publicUrl, authUrl }: { publicUrl: string | undefined; authUrl: string | undefined },
): void {
  if (authUrl === undefined) return;
  app.get("/.well-known/oauth-protected-resource", async ({ protocol, host }) => ({
    resource: publicUrl ?? `${protocol}://${host}`,
    authorization_servers: [authUrl],
    bearer_methods_supported: ["header"],
  }));
}
