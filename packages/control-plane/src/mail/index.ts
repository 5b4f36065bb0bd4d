export type { NoticeOf } from "./letter.ts";
export { createLetters, type Letters } from "./letters.ts";
export type { MakePasswordLink } from "./send-mails.ts";
