import type { Terminal } from "../terminal.ts";

export type Login = {
  /** The authorization server. */
  issuer: string;
  scope: string;
  /** The name of this computer, by which people recognise the login later. */
  machine: string;
  terminal: Terminal;
};
