import type { Member } from "./cluster.ts";
import { setCable } from "./cluster-cuts.ts";
import { inspect } from "./host.ts";

/** What can happen to a member. `strike` returns when it has happened; `heal` restores the host. */
export type Fault = {
  name: string;
  strike: (victim: Member) => Promise<number>;
  heal: (victim: Member) => Promise<unknown>;
};

export async function serverOf({ host, node }: Pick<Member, "host" | "node">): Promise<number> {
  const { Pid } = (await inspect(host, node)).State;
  // For `kill`, 0 means the sender's whole process group.
  if (!(Pid > 1)) throw new Error(`The server of node ${node} does not run.`);
  return Pid;
}

async function signal(victim: Member, name: NodeJS.Signals): Promise<number> {
  const pid = await serverOf(victim);
  const at = Date.now();
  process.kill(pid, name);
  return at;
}

export const killed: Fault = {
  name: "its server killed",
  strike: (victim) => signal(victim, "SIGKILL"),
  heal: async () => {},
};

/** The agent may have restarted the server meanwhile: SIGCONT does nothing to the new process. */
export const frozen: Fault = {
  name: "its server frozen",
  strike: (victim) => signal(victim, "SIGSTOP"),
  heal: (victim) => signal(victim, "SIGCONT").catch(() => undefined),
};

export const unplugged: Fault = {
  name: "its host's cable pulled out",
  strike: async ({ host }) => {
    const at = Date.now();
    await setCable(host, "down");
    return at;
  },
  heal: ({ host }) => setCable(host, "up"),
};
