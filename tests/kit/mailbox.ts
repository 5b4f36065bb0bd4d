import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@moorage/testkit/until.ts";
import PostalMime, { type Email } from "postal-mime";
import { env } from "./stack-env.ts";

/** The mails to an address, in the order of their arrival. */
async function mailsTo(address: string): Promise<Email[]> {
  const folder = env("MOORAGE_MAIL_DIR");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".eml") && !name.startsWith("."));
  const mails = await Promise.all(
    names.sort().map(async (name) => PostalMime.parse(await readFile(join(folder, name)))),
  );
  return mails.filter(({ to }) => to?.some((each) => each.address === address));
}

export const mailTo = (address: string, subject: string, seconds = 10): Promise<Email> =>
  until(`a mail "${subject}" has reached ${address}`, seconds, async () =>
    (await mailsTo(address)).findLast((mail) => mail.subject === subject),
  );

export function linkIn({ text = "" }: Email): string {
  const [link] = /https?:\/\/\S+/.exec(text) ?? [];
  if (link === undefined) throw new Error("There is no link in this mail.");
  return link;
}
