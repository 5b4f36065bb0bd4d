import type { FastifyReply, FastifyRequest } from "fastify";

export type Person = { accountId: number; userId: number };

export type CommandLineLogin = {
  /** The computer's own name. */
  machine: string;
  /** The label and the lifetime of the token that it gets. */
  label: string;
  days: number;
  /** If the code was typed in: the code, and the address of the device that requested it. */
  device: { userCode: string; address: string } | undefined;
};

export type InteractionApp = {
  id: string;
  label: string;
  thumbnailUrl: string | null;
  redirectsTo: string;
  /** The account that registered it, and what it calls itself. */
  accountId: number;
  owner: string;
  /** By the operator. Others may ask only users of their own account. */
  verified: boolean;
};

/** The reason why a browser was sent to this server. */
export type Interaction = {
  uid: string;
  prompt: "sign-in" | "consent";
  /** The app that sent the browser; undefined for our own pages. */
  app: InteractionApp | undefined;
  /** Set for `moorage login`: the computer, and how it requested the login. */
  commandLine: CommandLineLogin | undefined;
  /** All scopes that the app requests: a person who agrees grants exactly these. */
  scopes: readonly string[];
  person: Person | undefined;
};

/** How somebody authenticated, by the names of RFC 8176. */
export type Proof = "pwd" | "otp" | "hwk";

/** What the pages need from the authorization server. Each ending answers the request with a redirect. */
export type Interactions = {
  /** Undefined: the interaction has ended, or belongs to another browser. */
  find(request: FastifyRequest, reply: FastifyReply): Promise<Interaction | undefined>;
  signedIn(request: FastifyRequest, reply: FastifyReply, person: Person, proofs: readonly Proof[]): Promise<void>;
  consented(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  refused(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Who is signed in in this browser, and since when. `uid` identifies the session but is no secret. */
  session(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ person: Person; uid: string; signedInAt: Date } | undefined>;
  /**
   * The address that signs in for our own pages and then redirects to `path`. `again`: a signed-in person has to
   * authenticate again.
   */
  signInAt(path: string, how?: { again?: boolean }): string;
};
