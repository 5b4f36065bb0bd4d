import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createPuts } from "./put-objects.ts";

test("each object is sent with the headers that its address was signed with", async () => {
  const received: IncomingHttpHeaders[] = [];
  const store = createServer((request, answer) => {
    received.push(request.headers);
    request.resume().on("end", () => answer.end());
  });
  await new Promise<void>((resolve) => store.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(store.address() as AddressInfo).port}/object`;
  const signed = {
    "x-amz-object-lock-mode": "GOVERNANCE",
    "x-amz-object-lock-retain-until-date": "2026-11-28T12:00:00Z",
  };
  const puts = createPuts(
    async (names) => ({ urls: names.map(() => url), headers: signed }),
    AbortSignal.timeout(60_000),
  );
  const buffer = Buffer.from("content");
  const body = { buffer, bytes: buffer.length, md5: createHash("md5").update(buffer).digest("base64") };

  try {
    await puts.put("logs/one", body, () => ["logs/two"]);
    await puts.put("logs/two", body);
  } finally {
    await puts.close();
    store.close();
  }

  expect(received).toHaveLength(2);
  for (const headers of received) expect(headers).toMatchObject({ ...signed, "content-md5": body.md5 });
});
