import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { createThrottle, takeAttempt } from "./throttle.ts";

const [SECOND, MINUTE, DAY] = [1000, 60_000, 86_400_000];
const OWNER = "198.51.100.7";
const DEVICE = "d".repeat(64);

/** The limits of one process, on a clock of the test. */
function newThrottle(at: "password" | "code" = "password") {
  const time = { now: DAY };
  const down = () => Promise.reject(new Error("down"));
  const shared = { take: down, refund: down, close: () => {} };
  const throttle = createThrottle({ shared, log: createLog("test", "silent"), now: () => time.now });
  const tryFrom = async (ip: string, device?: string): Promise<boolean> =>
    (await takeAttempt(throttle, { at, ip, who: "alice" }, device)).seconds === 0;
  return { time, tryFrom };
}

test.each([
  ["password", 100],
  ["code", 10],
] as const)(
  "ten networks that guess a %s for a day lock the owner out, but not on a known device",
  async (at, perHour) => {
    const { time, tryFrom } = newThrottle(at);
    const [networks, end] = [Array.from({ length: 10 }, (_, n) => `203.0.113.${n}`), time.now + DAY];
    let checked = 0;
    const elsewhere = { tried: 0, refused: 0 };
    const known = { tried: 0, refused: 0 };
    for (; time.now < end; time.now += 20 * SECOND) {
      for (const network of networks) if (await tryFrom(network)) checked++;
      if (time.now % (20 * MINUTE) !== 0) continue;
      elsewhere.tried++;
      if (!(await tryFrom(OWNER))) elsewhere.refused++;
      known.tried++;
      if (!(await tryFrom(OWNER, DEVICE))) known.refused++;
    }
    expect(checked).toBeGreaterThan(20 * perHour);
    expect(checked).toBeLessThanOrEqual((24 + 2) * perHour);
    expect(elsewhere.refused / elsewhere.tried).toBeGreaterThan(0.9);
    expect(known).toEqual({ tried: 72, refused: 0 });
  },
);

test("a stolen device gets five tries and then one in two minutes, and its owner signs in from elsewhere", async () => {
  const { time, tryFrom } = newThrottle();
  const ordinary = newThrottle();
  const counts = { stolen: 0, without: 0 };
  for (let n = 0; n < 600; n++) {
    if (await tryFrom("203.0.113.9", DEVICE)) counts.stolen++;
    if (await ordinary.tryFrom("203.0.113.9")) counts.without++;
    time.now += SECOND;
    ordinary.time.now += SECOND;
  }
  expect(counts).toEqual({ stolen: 18, without: 9 });
  expect(await tryFrom(OWNER, DEVICE)).toBe(true);
  expect(await tryFrom(OWNER)).toBe(true);
});
