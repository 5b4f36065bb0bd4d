/** Follows a password link like a browser without scripts, and chooses a password. */
export async function choosePassword(link: string, password: string): Promise<void> {
  const { origin } = new URL(link);
  const opened = await fetch(link, { redirect: "manual" });
  const cookie = opened.headers
    .getSetCookie()
    .map((each) => each.split(";", 1)[0])
    .join("; ");
  const form = await (await fetch(`${origin}/password`, { headers: { cookie } })).text();
  const token = /name="form_token" value="([^"]+)"/.exec(form)?.[1];
  if (token === undefined) throw new Error(`${origin} shows no form for this password link.`);
  const saved = await fetch(`${origin}/password`, {
    method: "POST",
    headers: { cookie, origin },
    body: new URLSearchParams({ form_token: token, password, again: password }),
  });
  if (saved.ok) return;
  const [, fault] = /class="fault"[^>]*>([^<]+)/.exec(await saved.text()) ?? [];
  throw new Error(`The password was refused: ${fault ?? saved.status}`);
}
