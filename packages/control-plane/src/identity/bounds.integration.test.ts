import { expect, test } from "vitest";
import { newWorld } from "#testing/world.ts";
import { limitTexts } from "./texts.ts";

const most = [
  ["users per account", "/v4/account/users", { username: "one-more", email: "one@more.example" }, 500],
  [
    "OAuth clients per account",
    "/v4/account/oauth-clients",
    { label: "one more", redirect_uri: "https://app.example/" },
    200,
  ],
  ["tokens per user", "/v4/profile/tokens", { label: "one more" }, 500],
] as const;

test.each(most)("there is a limit of %s, and the error names it", async (what, path, body, bound) => {
  await using world = await newWorld();
  const owner = await world.customer();
  const { accountId: account_id, userId: user_id } = owner;
  const now = world.time.now;
  const numbers = Array.from({ length: bound - 1 }, (_, n) => n);
  if (what === "users per account")
    await world.db
      .insertInto("users")
      .values(
        // The owner is the first.
        numbers.slice(1).map((n) => ({
          account_id,
          username: `u${n}`,
          email: "u@x.example",
          restricted: true,
          created_at: now,
        })),
      )
      .execute();
  else if (what === "OAuth clients per account")
    await world.db
      .insertInto("oauth_clients")
      .values(
        [
          ...numbers.map((n) => ({ id: `c${n}`, deleted_at: null })),
          // A deleted one does not count.
          { id: "gone", deleted_at: now },
        ].map((row) => ({
          ...row,
          account_id,
          label: "l",
          redirect_uri: "https://x.example/",
          public: false,
          secret_sha256: Buffer.alloc(32),
          created_at: now,
        })),
      )
      .execute();
  else
    await world.db
      .insertInto("tokens")
      .values(
        // The owner has one already.
        numbers.slice(1).map((n) => ({
          account_id,
          user_id,
          label: "l",
          sha256: Buffer.from(`${n}`),
          prefix: "",
          scopes: ["*"],
          created_at: now,
          expires_at: null,
          revoked_at: null,
        })),
      )
      .execute();

  expect((await owner.post(path, body)).status).toBe(200);
  expect(await owner.post(path, body)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: limitTexts.countReached({ most: bound, what }).text }] },
  });
});
