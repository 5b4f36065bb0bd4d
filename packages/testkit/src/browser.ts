type Cookie = { value: string; path: string };

/** Keeps cookies like a browser, and follows no redirect by itself. */
export function newBrowser(origin: string) {
  const jar = new Map<string, Cookie>();
  const isSentTo = (path: string, { path: of }: Cookie): boolean =>
    path === of || path.startsWith(of.endsWith("/") ? of : `${of}/`);

  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(path, origin);
    const cookies = [...jar].filter(([, cookie]) => isSentTo(url.pathname, cookie));
    const cookie = cookies.map(([key, { value }]) => `${key.split(" ", 1)[0]}=${value}`).join("; ");
    const headers = { ...(init.headers as Record<string, string>), ...(cookie !== "" && { cookie }) };
    const reply = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of reply.headers.getSetCookie()) {
      const [pair = "", ...flags] = line.split("; ");
      const at = pair.indexOf("=");
      const of = flags.find((flag) => /^path=/i.test(flag))?.slice(5) ?? "/";
      const key = `${pair.slice(0, at)} ${of}`;
      if (/expires=thu, 01 jan 1970/i.test(line)) jar.delete(key);
      else jar.set(key, { value: pair.slice(at + 1), path: of });
    }
    return reply;
  };
  return {
    get: (path: string, headers: Record<string, string> = {}) => send(path, { headers }),
    post: (path: string, form: Record<string, string> = {}, headers: Record<string, string> = {}) =>
      send(path, { method: "POST", body: new URLSearchParams(form), headers: { origin, ...headers } }),
    cookies: () => [...jar].map(([key, { value }]) => [key.split(" ", 1)[0] ?? "", value] as const),
  };
}
export type Browser = ReturnType<typeof newBrowser>;
