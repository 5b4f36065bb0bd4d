import type { Terminal } from "../terminal.ts";

export type Login = {
  /** Where one signs in. */
  issuer: string;
  scope: string;
  /** The name of this computer, by which a person tells their logins apart. */
  machine: string;
  terminal: Terminal;
};
