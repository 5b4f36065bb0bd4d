export type { NoticeOf } from "./mail-message.ts";
export { createMails, createNotices, type Mails, type Notices, sealedByMail } from "./mail-store.ts";
export type { MakePasswordLink } from "./send-mails.ts";
