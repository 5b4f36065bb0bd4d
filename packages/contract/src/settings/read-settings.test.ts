import { expect, test } from "vitest";
import { z } from "zod";
import { mandatory, readSettings } from "./read-settings.ts";

const fields = {
  MOORAGE_CELL: z.coerce.number().int().max(1023).default(0).describe("The number of the installation."),
  MOORAGE_KEYS_FILE: z.string().describe("The key ring."),
  MOORAGE_STRIPE_KEY: z.string().min(8).optional().describe("The provider's key.").meta({ secret: true }),
};
const valid = { MOORAGE_KEYS_FILE: "/keys.json" };

/** The lines of the refusal. */
function faultsOf(env: Record<string, string>): string[] {
  try {
    readSettings(fields, env);
  } catch (error) {
    return (error as Error).message.split("\n").slice(1);
  }
  return [];
}

test("every fault of the environment is reported at once, with what the setting is", () => {
  expect(faultsOf({ MOORAGE_CELL: "1024", MOORAGE_STRIPE_KEY: "short", MOORAGE_CEL: "1" })).toEqual([
    expect.stringMatching(/^- MOORAGE_CELL is not valid: .*1023\. The number of the installation\.$/),
    "- MOORAGE_KEYS_FILE is not set. The key ring.",
    expect.stringMatching(/^- MOORAGE_STRIPE_KEY is not valid: .* The provider's key\.$/),
    "- MOORAGE_CEL is no setting of Moorage. Did you mean MOORAGE_CELL?",
  ]);
});

test("values, which may be secret, are not repeated", () => {
  expect(faultsOf({ ...valid, MOORAGE_STRIPE_KEY: "s3cret", MOORAGE_STRIPE_KEI: "s4cret" }).join()).not.toMatch(
    /s.cret/,
  );
});

test.each([
  ["MOORAGE_SWEEP_SECOND", "MOORAGE_SWEEP_SECONDS"],
  ["MOORAGE_DAILY_BACKUP_KEPT", "MOORAGE_DAILY_BACKUPS_KEPT"],
])("a mistyped setting is refused with the name that was meant, of whichever process: %s", (name, meant) => {
  expect(faultsOf({ ...valid, [name]: "1" })).toEqual([`- ${name} is no setting of Moorage. Did you mean ${meant}?`]);
});

test("a variable with the prefix that resembles no setting is refused too", () => {
  expect(faultsOf({ ...valid, MOORAGE_WEATHER: "calm" })).toEqual(["- MOORAGE_WEATHER is no setting of Moorage."]);
});

test.each(["MOORAGE_API_LISTEN", "MOORAGE_AGENT_DIR", "MOORAGE_TOKEN", "MOORAGE_STACK", "MOORAGE_TRIALS", "WEATHER"])(
  "variables of other processes, of clients and of others do not matter: %s",
  (name) => {
    expect(readSettings(fields, { ...valid, [name]: "any" })).toEqual({ ...valid, MOORAGE_CELL: 0 });
  },
);

test("a setting that is optional elsewhere can be required, and keeps its description", () => {
  const required = { MOORAGE_STRIPE_KEY: mandatory(fields.MOORAGE_STRIPE_KEY) };
  expect(() => readSettings(required, {})).toThrow("MOORAGE_STRIPE_KEY is not set. The provider's key.");
  expect(required.MOORAGE_STRIPE_KEY.meta()).toMatchObject({ secret: true });
});
