import { env } from "../kit/stack-env.ts";
import { as, type Check, calls, pointAt, unless } from "./api-v4-calls.ts";
import { account } from "./api-v4-account.ts";
import { database } from "./api-v4-database.ts";
import { identity } from "./api-v4-identity.ts";
import { images } from "./api-v4-images.ts";
import type { Checks } from "./checks.ts";
import type { ClientTarget } from "./client-cells.ts";
import { clientThings } from "./client-things.ts";

const {
  getDatabaseEngine,
  getDatabaseEngines,
  getDatabaseType,
  getDatabaseTypes,
  getLinodeTypes,
  getRegion,
  getRegions,
  getType,
} = calls;

/** The package that the vendor's web manager is built on, with its address replaced as its documentation describes. */
export async function withApiV4({ url }: ClientTarget, { check }: Checks): Promise<void> {
  pointAt(url);
  await using things = await clientThings("js");
  await as(things.account.token, async () => {
    await catalogue(check);
    await identity(things, check);
    await images(things, check);
    await database(things, check);
  });
  await account(things, check);
}

async function catalogue(check: Check): Promise<void> {
  const [engine, type, region] = [env("MOORAGE_ENGINE"), env("MOORAGE_TYPE"), env("MOORAGE_REGION")];
  const has =
    (id: string) =>
    ({ data }: { data: { id: string }[] }) =>
      data.some((each) => each.id === id) ? undefined : `no ${id}`;
  const is = (id: string) => unless((found: { id: string }) => found.id === id);
  await check("getDatabaseEngines", () => getDatabaseEngines({}, { engine: "mysql" }), has(engine));
  await check("getDatabaseEngine by an id with a slash", () => getDatabaseEngine(engine), is(engine));
  await check("getDatabaseTypes", () => getDatabaseTypes(), has(type));
  await check("getDatabaseType", () => getDatabaseType(type), is(type));
  await check("getLinodeTypes (the alias /linode/types)", () => getLinodeTypes(), has(type));
  await check("getType", () => getType(type), is(type));
  await check("getRegions", () => getRegions(), has(region));
  await check("getRegion", () => getRegion(region), is(region));
}
