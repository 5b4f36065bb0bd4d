import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { confirmAddress, findNewAddress } from "./confirm-address.ts";
import type { SignInDeps } from "./deps.ts";
import { formOf, sendFaults, sendPage, sendTooMany } from "./http.ts";
import { isFresh } from "./is-fresh.ts";
import { linkCookie } from "./secret-cookie.ts";
import { addressConfirmedPage, confirmAddressPage, deadAddressLinkPage } from "./pages/address-pages.ts";
import { texts } from "./pages/texts.ts";
import { findUser } from "./user-store.ts";

/** Confirming a new mail address: with the link that was sent there, and a recent sign-in. */
export function addressRoutes(app: FastifyInstance, deps: SignInDeps): void {
  const { db, clock, throttle, formTokens, interactions } = deps;
  const cookie = linkCookie(deps.authUrl, "moorage_address");

  app.get<{ Params: { secret: string } }>("/address/:secret", { logLevel: "silent" }, async ({ params }, reply) =>
    reply
      .header("set-cookie", cookie.set(params.secret))
      .header("cache-control", "no-store")
      .header("referrer-policy", "no-referrer")
      .redirect("/address", 303),
  );

  /** The link is read only after the sign-in: it reveals a user's new address. */
  const read = async (request: FastifyRequest, reply: FastifyReply) => {
    const session = await interactions.session(request, reply);
    if (session === undefined || !isFresh(session, clock()))
      return { signInAt: interactions.signInAt("/address", { again: session !== undefined }) };
    const user = await findUser(db, session.person);
    const secret = cookie.read(request);
    const email = secret === undefined ? undefined : await findNewAddress(deps, session.person, secret);
    if (user === undefined || secret === undefined || email === undefined) return "dead";
    return { user, person: session.person, secret, email };
  };

  app.get("/address", async (request, reply) => {
    const found = await read(request, reply);
    if (found === "dead") return refuse(request, reply);
    if ("signInAt" in found) return reply.redirect(found.signInAt, 303);
    const { user, secret, email } = found;
    return sendPage(
      reply,
      confirmAddressPage({ token: formTokens.make("address", secret), username: user.username, email }),
    );
  });

  app.post("/address", async (request, reply) => {
    const found = await read(request, reply);
    if (found === "dead") return refuse(request, reply);
    if ("signInAt" in found) return reply.redirect(found.signInAt, 303);
    formOf(deps, request, { for: "address", of: found.secret }, []);
    const email = await confirmAddress(deps, found.person, found.secret);
    if (email === undefined) return refuse(request, reply);
    reply.header("set-cookie", cookie.clear);
    return sendPage(reply, addressConfirmedPage({ email }));
  });

  const refuse = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const seconds = await throttle.take({ at: "link", ip: request.ip });
    if (seconds > 0) return sendTooMany(reply, seconds, "/security");
    return sendFaults(reply.header("set-cookie", cookie.clear), [texts.addressLinkInvalid()], deadAddressLinkPage());
  };
}
