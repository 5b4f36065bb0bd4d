import { env } from "./stack-env.ts";

/** The interface that the operator's command line calls. */
export async function operator<Body = object>(path: string, body: object): Promise<Body> {
  const reply = await fetch(new URL(path, env("MOORAGE_ADMIN_URL")), {
    method: "POST",
    headers: { authorization: `Bearer ${env("MOORAGE_OPERATOR_TOKEN")}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`POST ${path} was answered ${reply.status}: ${text}`);
  return JSON.parse(text) as Body;
}
