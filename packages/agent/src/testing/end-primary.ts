import { type TestHost, until } from "./test-host.ts";

type Host = Pick<TestHost, "newLog" | "serverPid">;

/**
 * Kills or stops the server of an asynchronous primary until its agent has fenced it; returns the process. An agent that
 * a busy machine keeps from reaching its gateway for two seconds lets the primary continue: then its next server is
 * killed or stopped too.
 */
export async function endPrimary(
  host: Host,
  node: string,
  signal: "SIGKILL" | "SIGSTOP",
  isFenced: () => boolean,
): Promise<number> {
  for (let pid = await serverOtherThan(0, host, node); ; pid = await serverOtherThan(pid, host, node)) {
    const logged = host.newLog();
    process.kill(pid, signal);
    await until("the fence", () => isFenced() || logged().includes("it stays the primary"));
    if (isFenced()) return pid;
  }
}

async function serverOtherThan(before: number, host: Host, node: string): Promise<number> {
  let pid = 0;
  await until("its server", () => {
    pid = host.serverPid(node);
    // To kill(2), 0 means the whole process group of the sender.
    return pid > 1 && pid !== before;
  });
  return pid;
}
