import type { FastifyReply, FastifyRequest } from "fastify";

export type Person = { accountId: number; userId: number };

export type CommandLineLogin = {
  /** As it calls itself. */
  machine: string;
  /** The name of the token that it gets, and how long that lasts. */
  label: string;
  days: number;
  /** Where the code was typed by hand: the code, and the address from which it was asked for. */
  device: { userCode: string; address: string } | undefined;
};

/** What a browser was sent to us for. */
export type Interaction = {
  uid: string;
  prompt: "sign-in" | "consent";
  /** Who sent it; undefined when it comes from our own pages. */
  app: { id: string; label: string; thumbnailUrl: string | null; redirectsTo: string } | undefined;
  /** Set where `moorage login` asks: which computer, and how it was asked for. */
  commandLine: CommandLineLogin | undefined;
  /** All that the app asks for: a person who agrees gives it exactly these. */
  scopes: readonly string[];
  person: Person | undefined;
};

/** How somebody proved who they are, as RFC 8176 calls it. */
export type Proof = "pwd" | "otp" | "hwk";

/** What the pages need of the authorization server. Each ending answers the request with a redirect. */
export type Interactions = {
  /** Undefined: it has ended, or it is another browser's. */
  find(request: FastifyRequest, reply: FastifyReply): Promise<Interaction | undefined>;
  signedIn(request: FastifyRequest, reply: FastifyReply, person: Person, proofs: readonly Proof[]): Promise<void>;
  consented(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  refused(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Who is signed in in this browser, and since when. `uid` names the session and opens nothing. */
  session(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ person: Person; uid: string; signedInAt: Date } | undefined>;
  /** Signs in for our own pages, and leads back to this path of ours. `again`: who is signed in proves it anew. */
  signInAt(path: string, how?: { again?: boolean }): string;
};
