import { expect, test } from "vitest";
import { courseOf, lastStart, type Roll } from "./roll.ts";

const START = Date.UTC(2026, 10, 22, 20);
const at = (seconds: number): Date => new Date(START + seconds * 1000);
/** With 1200 seconds a share is 300. */
const operation = (roll?: Partial<Roll>, deadline = 1200) => ({
  input: roll === undefined ? {} : { roll: { seconds: 1200, ...roll } },
  created_at: at(0),
  deadline_at: at(deadline),
});

test("a member starts only while a whole share of the time is left", () => {
  expect(lastStart(operation())).toEqual(at(900));
  expect(courseOf(operation(), at(900))).toMatchObject({ direction: "forward", timeIsShort: false });
  expect(courseOf(operation(), at(901))).toMatchObject({ timeIsShort: true });
});

test("a member is late after its share; before its spec was sent, only at the deadline", () => {
  const stepping = operation({ step_until: at(400).toISOString() });
  expect(courseOf(stepping, at(399))).toMatchObject({ stepIsLate: false });
  expect(courseOf(stepping, at(400))).toMatchObject({ stepIsLate: true });
  expect(courseOf(operation(), at(1199))).toMatchObject({ stepIsLate: false });
});

test("on the way back every second until the deadline is used", () => {
  const goingBack = operation({ back: { code: "database.host_reported", text: "it is broken" } }, 2000);
  expect(courseOf(goingBack, at(2000))).toMatchObject({ direction: "back", timeIsShort: false });
  expect(courseOf(goingBack, at(2001))).toMatchObject({ timeIsShort: true });
});
