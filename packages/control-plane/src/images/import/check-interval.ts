const MINUTE = 60;

/** A client with a new address usually uploads at once; one that has not after an hour is in no hurry. */
const intervals = [
  { youngerThan: 2 * MINUTE, seconds: 2 },
  { youngerThan: 10 * MINUTE, seconds: 5 },
  { youngerThan: 60 * MINUTE, seconds: 15 },
];
const LONGEST_SECONDS = 60;

export const secondsToNextCheck = (ageSeconds: number): number =>
  intervals.find(({ youngerThan }) => ageSeconds < youngerThan)?.seconds ?? LONGEST_SECONDS;
