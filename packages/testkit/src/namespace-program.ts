import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export type Call = { id: number; name: string; args: unknown[] };
export type Answer = { id: number; value?: unknown; error?: string };
type Functions = Record<string, (...args: never[]) => unknown>;

/** In the program: answers the calls of the process that started it. */
export function serveCalls(functions: Functions): void {
  process.on("message", ({ id, name, args }: Call) => {
    void (async () => functions[name]?.(...(args as never[])))().then(
      (value) => process.send?.({ id, value } satisfies Answer),
      (error: unknown) => process.send?.({ id, error: String(error) } satisfies Answer),
    );
  });
  process.on("disconnect", () => process.exit());
}

/** Of a client, or of the server on a node. */
export const clientProgram = join(import.meta.dirname, "client-program.ts");

/** Runs a program inside a network namespace; its functions can be called from here. Values pass as JSON. */
export function startProgram<F extends Functions>(
  namespace: string,
  file: string,
  environment: NodeJS.ProcessEnv = {},
) {
  const child: ChildProcess = fork(file, [], {
    execPath: "nsenter",
    execArgv: [`--net=/run/netns/${namespace}`, process.execPath],
    env: { ...process.env, ...environment },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let count = 0;
  child.on("message", ({ id, value, error }: Answer) => {
    const pending = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) pending?.resolve(value);
    else pending?.reject(new Error(error));
  });
  child.once("exit", () => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended.`));
  });
  return {
    call<N extends keyof F & string>(name: N, ...args: Parameters<F[N]>): Promise<Awaited<ReturnType<F[N]>>> {
      const pending = Promise.withResolvers<unknown>();
      waiting.set(++count, pending);
      child.send({ id: count, name, args } satisfies Call);
      return pending.promise as Promise<Awaited<ReturnType<F[N]>>>;
    },
    async end(): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}
