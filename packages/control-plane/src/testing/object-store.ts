import { startObjectStore as startServer } from "@moorage/testkit/object-store.ts";
import { createObjects } from "#platform/objects.ts";
import { createPurgingStore } from "#platform/purging-store.ts";

/** An object store, and the control plane's clients of it: each has the rights that operators give it, and no more. */
export async function startObjectStore(options: Parameters<typeof startServer>[1] = {}) {
  const server = await startServer("127.0.0.1", options);
  const { url, region, access_key, secret_key, purge_access_key, purge_secret_key, bucket } = server.settings;
  const place = { url, region, bucket, putSeconds: 3600, getSeconds: 21_600 };
  const objects = createObjects({ ...place, accessKey: access_key, secretKey: secret_key });
  const purging = createPurgingStore({ ...place, accessKey: purge_access_key, secretKey: purge_secret_key });
  return {
    ...server,
    objects,
    purging,
    async [Symbol.asyncDispose]() {
      objects.close();
      purging.close();
      await server.close();
    },
  };
}
export type ObjectStore = Awaited<ReturnType<typeof startObjectStore>>;
