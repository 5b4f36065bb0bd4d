import { expect, test } from "vitest";
import { browserCommand, hasBrowser } from "./open-browser.ts";

const URL = "https://login.example.com/oauth/authorize?a=1&b=$&";

test.each([
  [{ DISPLAY: ":0" }, "linux", true],
  [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", true],
  [{}, "linux", false],
  [{ DISPLAY: "" }, "linux", false],
  [{ DISPLAY: "localhost:10.0", SSH_CONNECTION: "203.0.113.7 1 198.51.100.1 22" }, "linux", false],
  [{ SSH_TTY: "/dev/pts/1", BROWSER: "w3m" }, "linux", true],
  [{}, "darwin", true],
  [{ SSH_CONNECTION: "203.0.113.7 1 198.51.100.1 22" }, "darwin", false],
] as const)("with %j on %s a browser opens here: %s", (env, system, expected) => {
  expect(hasBrowser(env, system)).toBe(expected);
});

test.each([
  [{}, "linux", ["xdg-open", URL]],
  [{}, "darwin", ["open", URL]],
  [{ BROWSER: "firefox" }, "linux", ["firefox", URL]],
  [{ BROWSER: "firefox --new-tab %s:w3m" }, "linux", ["firefox", "--new-tab", URL]],
] as const)("with %j on %s the address is one argument", (env, system, expected) => {
  expect(browserCommand(env, URL, system)).toEqual(expected);
});
