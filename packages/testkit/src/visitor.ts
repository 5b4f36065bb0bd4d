/** A headless browser: it keeps cookies, follows redirects, and submits the forms of the current page. */
export type Visitor = ReturnType<typeof newVisitor>;
export type Seen = { status: number; url: URL; headers: Headers; html: string };

type Cookie = { name: string; value: string; path: string };

/** `ip`: its address, as the proxy reports it. It follows redirects only within `authUrl`. */
export function newVisitor(authUrl: string, ip = "203.0.113.1") {
  const home = new URL(authUrl);
  const cookies = new Map<string, Cookie>();
  let last: Seen | undefined;

  const keep = (line: string, url: URL): void => {
    const [pair = "", ...attributes] = line.split(/; */);
    const at = pair.indexOf("=");
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const attribute = (attributeName: string): string | undefined =>
      attributes.find((each) => each.toLowerCase().startsWith(`${attributeName}=`))?.slice(attributeName.length + 1);
    const path = attribute("path") ?? url.pathname;
    const expires = attribute("expires");
    const gone = attribute("max-age") === "0" || (expires !== undefined && new Date(expires) < new Date());
    if (gone) cookies.delete(`${path} ${name}`);
    else cookies.set(`${path} ${name}`, { name, value, path });
  };
  const cookiesFor = ({ pathname }: URL): string =>
    [...cookies.values()]
      .filter(({ path }) => path === "/" || pathname === path || pathname.startsWith(`${path}/`))
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ");

  const request = async (url: URL, init: RequestInit = {}): Promise<Seen> => {
    const reply = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { cookie: cookiesFor(url), "x-forwarded-for": ip, ...(init.headers as Record<string, string>) },
    });
    for (const line of reply.headers.getSetCookie()) keep(line, url);
    last = { status: reply.status, url, headers: reply.headers, html: await reply.text() };
    const to = reply.headers.get("location");
    if (to === null) return last;
    const next = new URL(to, url);
    return next.origin === home.origin ? request(next) : { ...last, url: next };
  };

  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Seen> =>
    request(new URL(path, home), {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { origin: home.origin, ...headers },
    });

  return {
    cookies: () => [...cookies.values()],
    get: (path: string): Promise<Seen> => request(new URL(path, home)),
    /** Without the hidden fields of any page. */
    post,
    /** Submits the form of the page whose action ends with `action`. */
    submit(action: string, fields: Record<string, string> = {}): Promise<Seen> {
      const form = formsOf(last?.html ?? "").find((each) => each.action.endsWith(action));
      if (form === undefined) throw new Error(`No form posts to ${action} on this page:\n${last?.html}`);
      return post(form.action, { ...form.hidden, ...fields });
    },
    /** The action of the page's form, and its hidden fields. */
    form: (action: string) => formsOf(last?.html ?? "").find((each) => each.action.endsWith(action)),
  };
}

const unescape = (text: string): string =>
  text.replaceAll(/&#(\d+);|&amp;|&quot;|&lt;|&gt;/g, (all, code: string | undefined) =>
    code === undefined
      ? ({ "&amp;": "&", "&quot;": '"', "&lt;": "<", "&gt;": ">" }[all] ?? all)
      : String.fromCodePoint(Number(code)),
  );

function formsOf(html: string): { action: string; hidden: Record<string, string> }[] {
  return [...html.matchAll(/<form[^>]*\saction="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(
    ([, action = "", inside = ""]) => ({
      action: unescape(action),
      hidden: Object.fromEntries(
        [...inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
          ([, name = "", value = ""]) => [unescape(name), unescape(value)],
        ),
      ),
    }),
  );
}
