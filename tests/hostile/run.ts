/**
 * Hostile requests, against a separate API process beside the running stack (`pnpm stack up`).
 *   pnpm test:hostile             10,000 for each part of the interface
 *   pnpm test:hostile --ci        300
 *   pnpm test:hostile --seed N    another random selection
 * No answer may be a 5xx, the process must not grow, and its log must not contain a secret.
 */
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Operation, operations } from "@moorage/contract";
import { createRandom } from "@moorage/testkit/random.ts";
import { printSlowest } from "../../tools/slowest.ts";
import { inStack } from "../../tools/stack/paths.ts";
import { accountOf } from "../conformance/fuzz-account.ts";
import { newChecks } from "../conformance/checks.ts";
import { startApi } from "../kit/api-process.ts";
import { formsOf } from "../security/forms.ts";
import { hostile, type Secrets } from "./requests.ts";
import { type Answer, createSender } from "./send.ts";

const { values } = parseArgs({
  options: { ci: { type: "boolean", default: false }, seed: { type: "string", default: "1" } },
});
const [perPart, seed] = [values.ci ? 300 : 10_000, Number(values.seed)];
const SENDERS = 64;
/** How much the process may have grown since it was warm. */
const MOST_GROWTH = 1.2;

const { check, note, tally, times } = newChecks();
const logFile = inStack("hostile.log");
const log = openSync(logFile, "w", 0o600);
try {
  const unlimited = { MOORAGE_RATE_LIMITS: "off" };
  await using api = await startApi(unlimited, log);
  const { token } = await accountOf(`hostile-${Date.now()}`, api.url);
  const secrets: Secrets = { token, password: `Canary-${crypto.randomUUID()}` };
  // Needs no body: the account would be gone, and all further requests refused for that reason.
  const meant = operations.filter(({ id }) => id !== "cancelAccount");
  const parts = Map.groupBy(meant, ({ tag }) => tag);

  const toWarmUp = Math.ceil(perPart / 2);
  await sendAll(api.port, meant, toWarmUp, seed + 1, secrets);
  const warm = await settledMb(api.pid);
  console.log(`after ${toWarmUp} to warm up: ${warm} MB`);
  for (const [tag, ofTag] of parts)
    await check(`${tag}: ${perPart} hostile requests, none answered by a 5xx or not at all`, async () => {
      const answers = await sendAll(api.port, ofTag, perPart, seed, secrets);
      const wrong = answers.filter(({ answer, endless }) => (typeof answer === "number" ? answer >= 500 : !endless));
      console.log(`       ${countsOf(answers.map(({ answer }) => answer))}; ${rssMb(api.pid)} MB`);
      if (wrong.length > 0)
        throw new Error(
          `${wrong.length}, such as ${wrong
            .slice(0, 5)
            .map(({ answer, kind, of }) => `${answer} (${kind}, ${of})`)
            .join("; ")}`,
        );
    });
  await check(
    "it serves as before",
    async () => fetch(`${api.url}/v4/regions`),
    ({ status }) => (status === 200 ? undefined : `${status}`),
  );
  const after = await settledMb(api.pid, warm * MOST_GROWTH);
  note(
    `its memory is at most ${MOST_GROWTH} times that of after the warm-up`,
    after <= warm * MOST_GROWTH,
    `${after} MB of ${warm} MB`,
  );
  const text = readFileSync(logFile, "utf8");
  for (const [name, secret] of Object.entries(secrets)) {
    const found = formsOf(secret).filter((form) => text.includes(form.text));
    note(`no line of its log has the ${name}`, found.length === 0, found.map(({ how }) => how).join(", "));
  }
  note("its log was written", text.split("\n").length > perPart, `${text.split("\n").length} lines`);
} finally {
  closeSync(log);
  rmSync(logFile, { force: true });
}
printSlowest("hostile", times);
console.log(`\nhostile: ${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed === 0 ? 0 : 1;

type Sent = { kind: string; of: string; answer: Answer; endless: boolean };

/** All kinds in turn, each on a random operation; many connections at once. */
async function sendAll(
  port: number,
  of: readonly Operation[],
  count: number,
  from: number,
  secrets: Secrets,
): Promise<Sent[]> {
  const kinds = Object.entries(hostile);
  const sent: Sent[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    const sender = createSender(port);
    for (let n = next++; n < count; n = next++) {
      const random = createRandom(from * 1_000_003 + n);
      const [kind, make] = kinds[n % kinds.length] as (typeof kinds)[number];
      const operation = random.oneOf(of);
      const request = make(operation, random, secrets);
      sent.push({ kind, of: operation.id, answer: await sender.send(request), endless: request.endless === true });
    }
    sender.close();
  };
  await Promise.all(Array.from({ length: SENDERS }, work));
  return sent;
}

function countsOf(answers: readonly Answer[]): string {
  return [...Map.groupBy(answers, (answer) => answer)]
    .map(([answer, all]) => `${answer}: ${all.length}`)
    .toSorted()
    .join(", ");
}

/**
 * The minimum over a few seconds: memory that is still to be collected is not growth. Collecting takes longer on a busy
 * machine: a process with more than `most` gets more time.
 */
async function settledMb(pid: number, most = Infinity): Promise<number> {
  let least = Infinity;
  for (let second = 0; second < 5 || (least > most && second < 300); second++) {
    await sleep(1000);
    least = Math.min(least, rssMb(pid));
  }
  return least;
}

function rssMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}
