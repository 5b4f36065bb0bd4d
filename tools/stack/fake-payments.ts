/**
 * Runs the stack's fake payment provider: packages/testkit/src/fake-payment-provider.ts. Its state is
 * kept in a file, which contains no card number.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createFakeLedger } from "@moorage/testkit/fake-payment-ledger.ts";
import { startFakePaymentProvider } from "@moorage/testkit/fake-payment-provider.ts";
import type { FakeMemory } from "@moorage/testkit/fake-payment-wire.ts";

const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} must be set.`);
  return value;
};
const file = env("FAKE_PAYMENTS_FILE");
const ledger = createFakeLedger(existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as FakeMemory) : undefined);

const fake = await startFakePaymentProvider({
  port: Number(env("FAKE_PAYMENTS_PORT")),
  webhookUrl: env("FAKE_PAYMENTS_WEBHOOK_URL"),
  webhookSecret: env("FAKE_PAYMENTS_WEBHOOK_SECRET"),
  ledger,
  changed: () => {
    writeFileSync(`${file}.new`, JSON.stringify(ledger.memory()));
    renameSync(`${file}.new`, file);
  },
});
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.on(signal, () => void fake.close().then(() => process.exit(0)));
