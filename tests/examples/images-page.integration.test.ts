/** The page for tenants about images, with a real store and a real import. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createPurgingImageStores } from "../../packages/control-plane/src/images/index.ts";
import { aDisk, importAll } from "../../packages/control-plane/src/testing/import-fixture.ts";
import { startObjectStore } from "../../packages/control-plane/src/testing/object-store.ts";
import { served } from "../../packages/control-plane/src/testing/served.ts";
import { newWorld, REGION } from "../../packages/control-plane/src/testing/world.ts";
import { newInstance, newPublicImage } from "../every-operation/machines.ts";
import { shell, shellBlocks } from "./shell.ts";

test("images.md: every request is accepted, in the order of the page", async () => {
  await using store = await startObjectStore();
  const imageStores = createPurgingImageStores({ default: { regions: [], ...store.settings } }, 24);
  await using world = await newWorld({ imageStores });
  using api = await served(world);
  await world.host();
  const baker = await world.customer();
  const { computeId, diskId } = await newInstance(world, baker.accountId);
  const distribution = await newPublicImage(world);
  await using tenant = await shell({
    MOORAGE_URL: api.url.replace(/\/$/, ""),
    MOORAGE_TOKEN: baker.token,
    REGION,
    COMPUTE: String(computeId),
    DISK: String(diskId),
  });
  await writeFile(join(tenant.folder, "disk.img.gz"), gzipSync(aDisk(3)));

  let output = "";
  for (const { code } of shellBlocks("docs/tenants/images.md")) {
    output += await tenant.paste(code);
    // What the service does meanwhile.
    if (code.includes("disk.img.gz")) await importAll(world);
  }
  imageStores.close();

  for (const shown of [
    `["${distribution}","A distribution",null,false]`,
    '["bakery",3,[',
    '["finished",100,',
    '[1025,"compute-',
    '"root",64,"ext4"]',
    '"creating"]',
    '"label":"bakery 2"',
    "{}",
  ])
    expect(output).toContain(shown);
  expect((await baker.get<{ results: number }>("/v4/images")).body.results).toBe(2);
});
