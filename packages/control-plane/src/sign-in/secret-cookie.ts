import type { FastifyRequest } from "fastify";

/** The secret of a link that was mailed, or of a device. */
const isSecret = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

type CookieOptions = { name: string; seconds: number; sameSite: "Lax" | "Strict" };

export function secretCookie(authUrl: string, { name: plainName, seconds, sameSite }: CookieOptions) {
  const secure = new URL(authUrl).protocol === "https:";
  const name = secure ? `__Host-${plainName}` : plainName;
  const flags = `Path=/; HttpOnly; SameSite=${sameSite}${secure ? "; Secure" : ""}`;
  return {
    set: (secret: string): string => `${name}=${isSecret(secret) ? secret : ""}; Max-Age=${seconds}; ${flags}`,
    clear: `${name}=; Max-Age=0; ${flags}`,
    read: ({ headers }: FastifyRequest): string | undefined => {
      const value = (headers.cookie ?? "")
        .split(/; */)
        .find((each) => each.startsWith(`${name}=`))
        ?.slice(name.length + 1);
      return value !== undefined && isSecret(value) ? value : undefined;
    },
  };
}

/**
 * Holds the secret of a link: addresses are kept in histories and visible on screens. Lax: people come here from their
 * mail, which is another site.
 */
export const linkCookie = (authUrl: string, name: string) =>
  secretCookie(authUrl, { name, seconds: 3600, sameSite: "Lax" });
