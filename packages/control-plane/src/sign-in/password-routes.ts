import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { chooseByLink, findLink } from "./choose-password.ts";
import type { SignInDeps } from "./deps.ts";
import { formOf, sendFaults, sendPage, sendTooMany } from "./http.ts";
import { linkCookie } from "./secret-cookie.ts";
import {
  choosePasswordPage,
  deadLinkPage,
  forgotDonePage,
  forgotPage,
  passwordChosenPage,
} from "./pages/password-pages.ts";
import { texts as pageTexts } from "./pages/texts.ts";
import { texts } from "./rules/texts.ts";
import { findUser } from "./user-store.ts";

/** Requesting a link, and choosing a password with it. */
export function passwordRoutes(app: FastifyInstance, deps: SignInDeps): void {
  const { db, clock, throttle, mails, formTokens, interactions } = deps;
  const cookie = linkCookie(deps.authUrl, "moorage_link");

  app.get("/forgot", async (_request, reply) => sendPage(reply, forgotPage({ token: formTokens.make("forgot", "") })));

  // The work and the answer are the same for every name: whether the user exists is checked when the mail is written.
  app.post("/forgot", async (request, reply) => {
    const { name } = formOf(deps, request, { for: "forgot", of: "" }, ["name"]);
    const seconds = await throttle.take({ at: "forgot", who: name, ip: request.ip });
    if (seconds > 0) return sendTooMany(reply, seconds, "/forgot");
    await mails.resetRequested(db, { name: name.slice(0, LONGEST_NAME) });
    return sendPage(reply, forgotDonePage());
  });

  // The secret moves from the address into a cookie: addresses are kept in histories and visible on screens.
  app.get<{ Params: { secret: string } }>("/password/:secret", { logLevel: "silent" }, async ({ params }, reply) =>
    reply
      .header("set-cookie", cookie.set(params.secret))
      .header("cache-control", "no-store")
      .header("referrer-policy", "no-referrer")
      .redirect("/password", 303),
  );

  app.get("/password", async (request, reply) => {
    const secret = cookie.read(request);
    const person = secret === undefined ? undefined : await findLink(db, clock, secret);
    const user = person && (await findUser(db, person));
    if (secret === undefined || user === undefined) return refuseLink(request, reply);
    return sendPage(reply, choosePasswordPage({ token: formTokens.make("password", secret), username: user.username }));
  });

  app.post("/password", async (request, reply) => {
    const secret = cookie.read(request);
    if (secret === undefined) return refuseLink(request, reply);
    const made = { for: "password", of: secret };
    const { password, again } = formOf(deps, request, made, ["password", "again"]);
    const person = await findLink(db, clock, secret);
    const user = person && (await findUser(db, person));
    if (user === undefined) return refuseLink(request, reply);
    const chosen =
      password === again
        ? await chooseByLink(deps, secret, password)
        : ({ outcome: "fault", fault: texts.passwordsDiffer() } as const);
    if (chosen.outcome === "nobody") return refuseLink(request, reply);
    if (chosen.outcome === "fault") {
      const token = formTokens.make(made.for, made.of);
      const page = choosePasswordPage({ token, username: user.username, fault: chosen.fault.text });
      return sendFaults(reply, [chosen.fault], page);
    }
    reply.header("set-cookie", cookie.clear);
    return sendPage(
      reply,
      passwordChosenPage({ signInAt: interactions.signInAt("/security"), apiUrl: deps.publicUrl }),
    );
  });

  const refuseLink = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const seconds = await throttle.take({ at: "link", ip: request.ip });
    if (seconds > 0) return sendTooMany(reply, seconds, "/forgot");
    return sendFaults(reply.header("set-cookie", cookie.clear), [pageTexts.linkInvalid()], deadLinkPage());
  };
}

const LONGEST_NAME = 200;
