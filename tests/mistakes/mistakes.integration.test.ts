import { afterAll, beforeAll, expect, test } from "vitest";
import { activeCluster, activeDatabase } from "../../packages/control-plane/src/testing/active-database.ts";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { type Mistake, mistakes } from "./mistakes.ts";

type Fault = { field?: string; reason: string };
type Answered = { what: string; status: number; errors: Fault[]; ok: boolean };

let world: World;
let fixture: Awaited<ReturnType<typeof newFixture>>;
const answers: Answered[] = [];

beforeAll(async () => {
  world = await newWorld();
  fixture = await newFixture();
});
afterAll(async () => {
  console.log(tableOf(answers));
  await world[Symbol.asyncDispose]();
});

/** A user with an active database, a suspended one and one of three nodes. */
async function newFixture() {
  const hosts = [await world.host(), await world.host(), await world.host()] as const;
  const owner = await world.customer();
  const active = await activeDatabase(world, owner, hosts[0], { label: "taken" });
  const suspended = await activeDatabase(world, owner, hosts[1], { label: "asleep" });
  await world.db.updateTable("databases").set({ status: "suspended" }).where("id", "=", suspended.id).execute();
  const cluster = await activeCluster(world, owner, hosts, { label: "three" });
  const [reader, restricted] = [
    await world.customer({ scopes: ["databases:read_only"] }),
    await world.colleague(owner.accountId, { restricted: true }),
  ];
  const [expired, revoked] = [await world.customer(), await world.customer()];
  const ago = new Date(world.time.now.getTime() - 1000);
  const change = (userId: number, values: object) =>
    world.db.updateTable("tokens").set(values).where("user_id", "=", userId).execute();
  await change(expired.userId, { expires_at: ago });
  await change(revoked.userId, { revoked_at: ago });
  const ids = { active: active.id, suspended: suspended.id, cluster: cluster.id };
  return { ids, tokens: { owner, reader, restricted, expired, revoked } };
}

/** `:active` is the id of the active database. */
const filled = (text: string): string =>
  text.replaceAll(/"?:(active|suspended|cluster)"?/g, (_, name: "active") => String(fixture.ids[name]));

async function make({ method = "GET", path, body, headers = {}, by = "owner" }: Mistake) {
  const token = by === "nobody" ? {} : { authorization: `Bearer ${fixture.tokens[by].token}` };
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const payload = typeof body === "object" ? JSON.stringify(body) : body;
  const reply = await world.send({
    method,
    url: filled(path),
    headers: { ...token, ...type, ...headers },
    ...(payload === undefined ? {} : { payload: filled(payload) }),
  });
  return { status: reply.statusCode, errors: reply.json<{ errors?: Fault[] }>().errors ?? [] };
}

test("there are sixty mistakes", () => {
  expect([mistakes.length, new Set(mistakes.map(({ what }) => what)).size]).toEqual([60, 60]);
});

test.each(mistakes.map((mistake) => [mistake.what, mistake] as const))(
  "%s is answered with the problem and with what is valid",
  async (what, mistake) => {
    const { status, errors } = await make(mistake);
    const reasons = errors.map(({ field = "", reason }) => `${field}: ${reason}`).join(" ");
    const [fields, missing] = [
      errors.map(({ field }) => field),
      mistake.names.filter((name) => !reasons.includes(name)),
    ];
    const ok =
      status === mistake.status &&
      missing.length === 0 &&
      (mistake.field === undefined || fields.includes(mistake.field));
    answers.push({ what, status, errors, ok });

    expect([status, reasons, missing]).toEqual([mistake.status, reasons, []]);
    expect([undefined, ...fields]).toContain(mistake.field);
  },
);

function tableOf(rows: readonly Answered[]): string {
  const width = Math.max(...rows.map(({ what }) => what.length));
  const lines = rows.map(({ what, status, errors, ok }) => {
    const reasons = errors
      .map(({ field, reason }) => (field === undefined ? reason : `[${field}] ${reason}`))
      .join(" | ");
    return `${ok ? "ok  " : "LACK"} ${what.padEnd(width)} ${status} ${reasons}`;
  });
  return [...lines, `mistakes: ${rows.filter(({ ok }) => ok).length} of ${rows.length} answered`].join("\n");
}
