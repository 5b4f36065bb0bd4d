import { randomBytes } from "node:crypto";
import { until } from "@moorage/testkit/until.ts";
import { TOTP } from "otpauth";
import { choosePassword } from "../../tools/stack/choose-password.ts";
import { canary } from "./canaries.ts";
import { operator } from "./operator.ts";
import { tenant } from "./tenant.ts";

const limits = { databases: 1, nodes: 1, memory_mb: 1024, disk_mb: 10_240 };

/** A text that looks different in every encoding. */
export const newPassword = (): string =>
  canary("password", `ebb & flood/${randomBytes(9).toString("base64url")} = tide+ä`);

/** A user with a separate account, a password and a token, created as an operator and the user would. */
export async function newPerson(name: string) {
  const username = `${name}-${randomBytes(4).toString("hex")}`;
  const email = `${username}@people.test`;
  const { id } = await operator<{ id: number }>("/admin/accounts", { company: `Company of ${name}`, email, limits });
  const users = `/admin/accounts/${id}/users`;
  await operator(users, { username, email, restricted: false });
  const { link } = await operator<{ link: string }>(`${users}/${username}/password-link`, {});
  canary("password link", new URL(link).pathname.split("/").at(-1) ?? "");
  const password = newPassword();
  await choosePassword(link, password);
  const made = { label: "test", scopes: ["*"] };
  const { token } = await operator<{ token: string }>(`${users}/${username}/tokens`, made);
  return { username, email, password, token, api: tenant(canary("personal token", token)) };
}
export type Person = Awaited<ReturnType<typeof newPerson>>;

/** An authenticator app with this seed. Each code is valid once, so it waits for the next one. */
export function authenticatorOf(seed: string) {
  const totp = new TOTP({ secret: canary("TOTP seed", seed) });
  let used = 0;
  return {
    // A server must accept one step ahead, because clocks differ.
    nextCode: (): Promise<string> =>
      until("there is a code that was not used yet", 40, async () => {
        const step = Math.max(used + 1, totp.counter());
        if (step > totp.counter() + 1) return undefined;
        used = step;
        return totp.generate({ timestamp: step * 30_000 });
      }),
  };
}

/** Enables two-factor sign-in through the API. */
export async function addAuthenticator({ api }: Person) {
  const offered = await api.call<{ secret: string }>("POST", "/v4/profile/tfa-enable");
  const { nextCode } = authenticatorOf(offered.body.secret);
  const confirmed = await api.call<{ scratch_codes: string[] }>("POST", "/v4/profile/tfa-enable-confirm", {
    tfa_code: await nextCode(),
  });
  if (confirmed.status !== 200) throw new Error(`The code was refused: ${JSON.stringify(confirmed.body)}`);
  return { nextCode, scratchCodes: confirmed.body.scratch_codes.map((code) => canary("scratch code", code)) };
}
