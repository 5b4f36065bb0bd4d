import { randomUUID } from "node:crypto";
import type { Capture, CaptureReport } from "@moorage/contract/agent";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createLimiter } from "../archive/limiter.ts";
import { GatewayAway } from "../base/try-again.ts";
import { createCaptures } from "./captures.ts";
import { CannotCapture } from "./open-device.ts";

type Work = {
  capture: Capture;
  signal: AbortSignal;
  progress: (n: number) => void;
  end: (how: string | Error) => void;
};

/** Captures whose work the test ends explicitly. */
function createFixture() {
  const begun: Work[] = [];
  let reported: CaptureReport[] = [];
  const captures = createCaptures({
    captureOnce: (capture, { signal, progress }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        const end = (how: string | Error) => (typeof how === "string" ? resolve({ content: how }) : reject(how));
        begun.push({ capture, signal, progress, end });
      }),
    oneAtATime: createLimiter(1).run,
    report: (reports) => {
      reported = reports;
    },
    log: pino({ level: "silent" }),
  });
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return {
    captures,
    begun,
    until,
    reported: () => reported,
    stateOf: (id: string) => reported.find((each) => each.id === id)?.state,
  };
}
const newCapture = (): Capture => ({ id: randomUUID(), device: "/dev/x", max_bytes: 1024 });

test("a capture starts once, however often it is requested, and is reported until it is dropped", async () => {
  const { captures, begun, until, reported } = createFixture();
  const capture = newCapture();
  for (let n = 0; n < 3; n++) expect(captures.take([capture])).toBe("taken");
  await until(() => begun.length === 1);
  begun[0]?.progress(30);
  expect(reported()).toEqual([{ id: capture.id, state: "working", percent: 30 }]);

  begun[0]?.end("the folder");
  await until(() => reported()[0]?.state === "done");
  captures.take([capture]);
  captures.take(undefined);

  expect(reported()).toEqual([{ id: capture.id, state: "done", percent: 100, content: "the folder" }]);
  expect(captures.known()).toEqual([capture.id]);
  captures.take([]);
  expect([reported(), captures.known()]).toEqual([[], []]);
  expect(begun).toHaveLength(1);
});

test("one capture runs at a time; when it is dropped, the next one starts", async () => {
  const { captures, begun, until, stateOf } = createFixture();
  const [first, second, third] = [newCapture(), newCapture(), newCapture()];
  captures.take([first, second, third]);
  await until(() => begun.length === 1);
  expect(stateOf(second.id)).toBe("working");

  captures.take([second, third]);
  await until(() => begun.length === 2);
  expect(begun.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  // A waiting capture can be dropped too.
  captures.take([second]);
  begun[1]?.end("folder");
  await until(() => stateOf(second.id) === "done");

  expect(begun.map(({ capture }) => capture.id)).toEqual([first.id, second.id]);
  expect(captures.known()).toEqual([second.id]);
});

test("a disk that cannot be captured fails at once with a message; a network failure is retried", async () => {
  const { captures, begun, until, reported } = createFixture();
  const [hopeless, unlucky] = [newCapture(), newCapture()];
  captures.take([hopeless]);
  await until(() => begun.length === 1);
  begun[0]?.end(new CannotCapture("The disk is empty."));
  await until(() => reported()[0]?.state === "failed");
  expect(reported()[0]).toMatchObject({ message: "The disk is empty." });

  captures.take([unlucky]);
  for (const [n, fault] of [new Error("ECONNRESET"), new GatewayAway("away")].entries()) {
    await until(() => begun.length === n + 2);
    begun.at(-1)?.end(fault);
  }
  await until(() => begun.length === 4);
  begun.at(-1)?.end("folder");
  await until(() => reported()[0]?.state === "done");
});

test("an unsupported capture is reported as failed by its id; one without an id is skipped", async () => {
  const { captures, reported } = createFixture();
  const id = randomUUID();

  expect(captures.take([{ id, device: 7 }])).toBe("taken");
  expect(reported()).toMatchObject([{ id, state: "failed", message: expect.stringContaining("too old") }]);
  expect(captures.known()).toEqual([id]);
  expect(captures.take([{ device: "/dev/x" }])).toBe("unreadable");
});

test("closing ends running and waiting captures", async () => {
  const { captures, begun, until } = createFixture();
  captures.take([newCapture(), newCapture()]);
  await until(() => begun.length === 1);

  await captures.close();

  expect(begun.map(({ signal }) => signal.aborted)).toEqual([true]);
});
