import type { FastifyInstance } from "fastify";

/** Tells programs where people sign in for this API (RFC 9728). `moorage login` begins here. */
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
