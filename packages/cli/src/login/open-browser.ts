import { spawn } from "node:child_process";
import { platform } from "node:os";

type Environment = Readonly<Record<string, string | undefined>>;

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";

/** Whether the person would see a browser opened here: false over ssh, and without a display. */
export function hasBrowser(env: Environment, system: NodeJS.Platform = platform()): boolean {
  if (isSet(env["BROWSER"])) return true;
  if (isSet(env["SSH_CONNECTION"]) || isSet(env["SSH_TTY"])) return false;
  return system === "darwin" || system === "win32" || isSet(env["DISPLAY"]) || isSet(env["WAYLAND_DISPLAY"]);
}

/** The program and its arguments. `BROWSER` is a colon-separated list of commands, in which `%s` stands for the URL. */
export function browserCommand(env: Environment, url: string, system: NodeJS.Platform = platform()): string[] {
  const own = env["BROWSER"]?.split(":").find((each) => each.trim() !== "");
  if (own !== undefined) {
    const words = own.trim().split(/\s+/);
    return own.includes("%s") ? words.map((word) => word.replaceAll("%s", () => url)) : [...words, url];
  }
  if (system === "darwin") return ["open", url];
  if (system === "win32") return ["rundll32", "url.dll,FileProtocolHandler", url];
  return ["xdg-open", url];
}

/** Errors are ignored: the address is printed as well. */
export function openBrowser(env: Environment, url: string): void {
  const [program = "", ...args] = browserCommand(env, url);
  const child = spawn(program, args, { env, stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
