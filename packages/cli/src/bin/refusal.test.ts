import { ApiError } from "@moorage/client";
import { expect, test } from "vitest";
import { Refused } from "../refused.ts";
import { moorage } from "./main.ts";
import { texts as profileTexts } from "../profiles/texts.ts";
import { refusalOf } from "./refusal.ts";
import { texts } from "../texts.ts";

async function stderrOf(...args: string[]): Promise<string> {
  let printed = "";
  const nothing = (): void => {};
  const code = await moorage(args, {
    env: { HOME: "/nowhere" },
    print: nothing,
    printError: (line) => (printed += `${line}\n`),
    write: nothing,
    progress: nothing,
    input: async () => "",
    secret: async () => "",
    prompt: async () => undefined,
  });
  expect(code).toBe(1);
  return printed;
}

test("a refusal is a sentence on standard error, and with --json its code and sentence", async () => {
  const { code, text: reason } = profileTexts.unknown({ name: "work" });
  expect(code).toBe("cli_profile.unknown");
  expect(await stderrOf("profile", "use", "work")).toBe(`${reason}\n`);
  const json = JSON.stringify({ errors: [{ code, reason }] });
  expect(await stderrOf("profile", "use", "work", "--json")).toBe(`${json}\n`);
});

test("programs get the errors of the API as the API sent them", () => {
  const errors = [{ field: "label", reason: "label must be a valid value: 3 to 32 characters" }];
  const ofOperator = new Refused(texts.apiRefused({ reasons: errors.map(({ reason }) => reason) }), errors);

  expect(refusalOf(new ApiError("createMysqlDatabase", 400, errors))?.errors).toEqual(errors);
  expect(refusalOf(ofOperator)).toEqual({ sentences: errors[0]?.reason, errors });
  expect(ofOperator.code).toBe("cli.api_refused");
});

test("an unexpected error is no refusal", () => {
  expect(refusalOf(new TypeError("undefined is not a function"))).toBeUndefined();
});
