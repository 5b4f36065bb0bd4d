import { createHash, randomBytes } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { canary } from "./canaries.ts";
import { authUrl } from "./browser.ts";
import { operator } from "./operator.ts";
import type { Person } from "./person.ts";
import { env } from "./stack-env.ts";

export type AppOptions = {
  label: string;
  isPublic: boolean;
  encoding: "urlencoded" | "multipart";
  /** Some SDKs leave it out when they exchange a code. */
  sendsGrantType: boolean;
  scope: string;
};
export type Tokens = {
  access_token: string;
  refresh_token: string;
  token_type: string;
  expires_in: number;
  scope: string;
};
type Answer<Body> = { status: number; body: Body };

/**
 * A third party's web app: it sends users to our authorization server, takes them back and requests tokens. It knows
 * only our addresses, its client id and its secret.
 */
export async function startThirdPartyApp(owner: Person, options: AppOptions) {
  const server = createServer((request, reply) => void serve(new URL(request.url ?? "/", "http://app"), reply));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = await register(owner, options, `${url}/callback`);
  const got: { tokens?: Tokens; code?: string; refusal?: string } = {};
  const pending = { state: "", verifier: "" };

  const post = async <Body>(path: string, fields: Record<string, string>): Promise<Answer<Body>> => {
    const all = { ...fields, client_id: client.id, ...(options.isPublic ? {} : { client_secret: client.secret }) };
    const reply = await fetch(authUrl(path), { method: "POST", body: bodyOf(all, options.encoding) });
    const text = await reply.text();
    return { status: reply.status, body: (text === "" ? {} : JSON.parse(text)) as Body };
  };
  const keep = (answer: Answer<Tokens>): Answer<Tokens> => {
    if (answer.status !== 200) return answer;
    got.tokens = answer.body;
    canary("access token", answer.body.access_token);
    canary("refresh token", answer.body.refresh_token);
    return answer;
  };
  const exchange = async (code: string): Promise<Answer<Tokens>> =>
    keep(
      await post<Tokens>("/oauth/token", {
        code,
        ...(options.sendsGrantType ? { grant_type: "authorization_code" } : {}),
        ...(options.isPublic ? { code_verifier: pending.verifier } : {}),
        redirect_uri: client.redirect_uri,
      }),
    );

  const serve = async (requested: URL, reply: ServerResponse): Promise<void> => {
    if (requested.pathname === "/begin") {
      pending.state = randomBytes(16).toString("hex");
      pending.verifier = randomBytes(32).toString("base64url");
      const challenge = createHash("sha256").update(pending.verifier).digest("base64url");
      const query = new URLSearchParams({
        response_type: "code",
        client_id: client.id,
        redirect_uri: client.redirect_uri,
        state: pending.state,
        scope: options.scope,
        ...(options.isPublic ? { code_challenge: challenge, code_challenge_method: "S256" } : {}),
      });
      reply.writeHead(302, { location: authUrl(`/oauth/authorize?${query.toString()}`) }).end();
      return;
    }
    if (requested.pathname !== "/callback") return void reply.writeHead(404).end();
    const params = Object.fromEntries(requested.searchParams);
    if (params["state"] !== pending.state) return void reply.writeHead(400).end(pageOf("Not the state we sent"));
    got.refusal = params["error"] ?? "";
    if (params["code"] !== undefined) {
      got.code = canary("authorization code", params["code"]);
      const { status } = await exchange(params["code"]);
      got.refusal = status === 200 ? "" : String(status);
    }
    const title = got.refusal === "" ? `${options.label} is connected` : `Refused: ${got.refusal}`;
    reply.writeHead(200, { "content-type": "text/html" }).end(pageOf(title));
  };

  return {
    ...client,
    url,
    got,
    exchange,
    refresh: async () =>
      keep(
        await post<Tokens>("/oauth/token", {
          grant_type: "refresh_token",
          refresh_token: got.tokens?.refresh_token ?? "",
        }),
      ),
    putThumbnail: () => putThumbnail(owner, client.id),
    revoke: (token: string) => post<object>("/oauth/revoke", { token }),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** With an icon in it, so that no browser requests one when the app is already gone. */
const pageOf = (title: string): string =>
  `<!doctype html><html lang="en"><title>${title}</title><link rel="icon" href="data:,"><h1>${title}</h1>`;

async function register({ api }: Person, { label, isPublic }: AppOptions, redirect_uri: string) {
  const { status, body } = await api.call<{ id: string; secret: string }>("POST", "/v4/account/oauth-clients", {
    label,
    redirect_uri,
    public: isPublic,
  });
  if (status !== 200) throw new Error(`The client was refused: ${status} ${JSON.stringify(body)}`);
  await operator(`/admin/oauth-clients/${body.id}/verified`, { verified: true });
  return { id: body.id, secret: canary("client secret", body.secret), redirect_uri };
}

/** A thumbnail as its owner has it: not square, and smaller than what is shown. */
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAGAAAABACAMAAADS6oI8AAAABlBMVEUPXG7wtFAsLeB4AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAALklEQVRYw+3NQQ0AAAgEoLN/aSv4cm5CARKA42pIIBAIBAKBQCAQCASCDwHAkgbkpQZBYMoQbQAAAABJRU5ErkJggg==";

async function putThumbnail({ token }: Person, id: string): Promise<void> {
  const reply = await fetch(new URL(`/v4/account/oauth-clients/${id}/thumbnail`, env("MOORAGE_URL")), {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "image/png" },
    body: Buffer.from(picture, "base64"),
  });
  if (!reply.ok) throw new Error(`The thumbnail was refused: ${reply.status} ${await reply.text()}`);
}

function bodyOf(fields: Record<string, string>, encoding: AppOptions["encoding"]): URLSearchParams | FormData {
  if (encoding === "urlencoded") return new URLSearchParams(fields);
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
