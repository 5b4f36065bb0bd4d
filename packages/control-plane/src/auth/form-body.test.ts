import { expect, test } from "vitest";
import { readForm } from "./routes.ts";

const multipart = (...fields: [string, string][]): Buffer =>
  Buffer.from(
    `${fields.map(([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join("")}--b--\r\n`,
  );
const TYPE = "multipart/form-data; boundary=b";

test("both form encodings are read, and a repeated name stays repeated", async () => {
  const form = await readForm("application/x-www-form-urlencoded; charset=utf-8", Buffer.from("code=a%2Bb&code=c"));
  expect([...form]).toEqual([
    ["code", "a+b"],
    ["code", "c"],
  ]);
  expect([...(await readForm(TYPE, multipart(["code", "a+b"], ["code", "c"])))]).toEqual([...form]);
});

test("a missing body is an empty form, with any content type", async () => {
  expect((await readForm("application/json", Buffer.alloc(0))).size).toBe(0);
});

test.each([
  ["JSON", "application/json", Buffer.from("{}")],
  ["no type", undefined, Buffer.from("a=b")],
  ["no boundary", "multipart/form-data", multipart(["a", "b"])],
  ["an end that is missing", TYPE, multipart(["a", "b"]).subarray(0, 30)],
  ["a long field", TYPE, multipart(["a", "b".repeat(10_000)])],
  ["many fields", TYPE, multipart(...Array.from({ length: 40 }, (): [string, string] => ["a", "b"]))],
  ["a file", TYPE, Buffer.from('--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--b--\r\n')],
])("%s is refused", async (_what, type, body) => {
  await expect(readForm(type, body)).rejects.toMatchObject({ kind: "invalid" });
});
