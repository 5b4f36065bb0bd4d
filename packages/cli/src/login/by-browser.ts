import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Text } from "@moorage/contract/texts";
import { Refused } from "../refused.ts";
import { inWords, oauth, serverAt } from "./authorization-server.ts";
import type { Login } from "./by-device-code.ts";
import { openBrowser } from "./open-browser.ts";
import { texts } from "./texts.ts";

const PATH = "/callback";
const MINUTES = 10;

/** Signs in with the browser of this computer. The redirect goes to a temporary server on 127.0.0.1 (RFC 8252). */
export async function signInByBrowser({ issuer, scope, machine, terminal }: Login): Promise<string> {
  const config = await serverAt(issuer);
  const client = await oauth();
  const [verifier, state] = [client.randomPKCECodeVerifier(), client.randomState()];
  const redirect = await listen(state);
  try {
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: redirect.url,
      scope,
      state,
      device_name: machine,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    terminal.printError(texts.openBrowser({ url: address.href }).text);
    openBrowser(terminal.env, address.href);
    const { url, show } = await redirect.came;
    try {
      const tokens = await inWords(issuer, () =>
        client.authorizationCodeGrant(config, url, { pkceCodeVerifier: verifier, expectedState: state }),
      );
      show(200, texts.pageSignedInTitle(), texts.pageSignedIn());
      return tokens.access_token;
    } catch (error) {
      show(400, texts.pageNotSignedInTitle(), texts.pageNotSignedIn());
      throw error;
    }
  } finally {
    redirect.close();
  }
}

type Came = { url: URL; show: (status: number, title: Text, body: Text) => void };

/** Accepts only a redirect with our own `state`: another program on this computer could send one too. */
async function listen(state: string) {
  const { promise: came, resolve, reject } = Promise.withResolvers<Came>();
  let url = "";
  const server = createServer((request, reply) => {
    const requested = new URL(request.url ?? "/", url);
    if (request.method !== "GET" || requested.pathname !== PATH)
      return answer(reply, 404, texts.pageUnknownTitle(), texts.pageUnknown());
    if (requested.searchParams.get("state") !== state)
      return answer(reply, 400, texts.pageOtherSignInTitle(), texts.pageOtherSignIn());
    resolve({ url: requested, show: (...shown) => answer(reply, ...shown) });
  });
  const timer = setTimeout(() => reject(new Refused(texts.timedOut({ minutes: MINUTES }))), MINUTES * 60_000);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${url}${PATH}`,
    came,
    close(): void {
      clearTimeout(timer);
      server.close();
      server.closeIdleConnections();
    },
  };
}

function answer(reply: ServerResponse, status: number, title: Text, body: Text): void {
  reply.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  reply.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title.text}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"></head>
<body><main><h1>${title.text}</h1><p>${body.text}</p></main></body></html>\n`);
}
