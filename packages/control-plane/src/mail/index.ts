export type { NoticeOf } from "./mail-message.ts";
export { createMails, type Mails } from "./mails.ts";
export type { MakePasswordLink } from "./send-mails.ts";
