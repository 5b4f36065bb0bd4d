import type { FastifyInstance } from "fastify";
import { addressRoutes } from "./address-routes.ts";
import type { SignInDeps } from "./deps.ts";
import { answerWithPages, readForms } from "./http.ts";
import { interactionRoutes } from "./interaction-routes.ts";
import { assetRoutes } from "./pages/assets.ts";
import { passwordRoutes } from "./password-routes.ts";
import { securityRoutes } from "./security-routes.ts";

export type { SignInDeps } from "./deps.ts";
export { createFormTokens, type FormTokens } from "./http.ts";
export { createPasswords, type Passwords } from "./passwords.ts";
export { createPasswordLinks } from "./choose-password.ts";
export { deviceSignedInPage, userCodePage } from "./pages/command-line-pages.ts";
export { errorPage, signedOutPage, signOutPage } from "./pages/message-pages.ts";
export { tfaRoutes } from "./tfa-routes.ts";
export { createNoThrottle, createThrottle, type Throttle } from "./throttle.ts";
export { createTwoFactorRescue, type TwoFactorDeps } from "./two-factor.ts";

/** All pages of the authorization server, in their own Fastify scope: bodies are forms. */
export function signInPages(app: FastifyInstance, deps: SignInDeps): void {
  void app.register(async (pages) => {
    readForms(pages);
    answerWithPages(pages);
    assetRoutes(pages);
    interactionRoutes(pages, deps);
    passwordRoutes(pages, deps);
    addressRoutes(pages, deps);
    securityRoutes(pages, deps);
  });
}
