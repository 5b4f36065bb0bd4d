import { normal } from "./password.ts";

/** NIST SP 800-63B-4 requires 15 where a password can be the only factor, and no rules about kinds of characters. */
const LEAST = 15;
const MOST = 128;
const FEWEST_DIFFERENT = 5;

/** Common passwords of this length, without case, spaces and punctuation. */
const common = new Set([
  "123456789012345",
  "1234567890123456",
  "12345678901234567890",
  "1234567890qwerty",
  "1234567890qwertyuiop",
  "1qaz2wsx3edc4rfv",
  "1qaz2wsx3edc4rfv5tgb",
  "abcdefghijklmno",
  "abcdefghijklmnop",
  "abcdefghijklmnopqrstuvwxyz",
  "administratoradministrator",
  "adminadminadmin",
  "changemechangeme",
  "changemechangemechangeme",
  "correcthorsebatterystaple",
  "iloveyouiloveyou",
  "letmeinletmeinletmein",
  "letmeinpleaseletmein",
  "mypasswordispassword",
  "passw0rdpassw0rd",
  "password123456789",
  "password1234567890",
  "passwordpassword",
  "passwordpasswordpassword",
  "passwordpassword1",
  "passwordpassword123",
  "qazwsxedcrfvtgb",
  "qazwsxedcrfvtgbyhnujm",
  "qwertyqwertyqwerty",
  "qwertyuiop123456",
  "qwertyuiop1234567890",
  "qwertyuiopasdfgh",
  "qwertyuiopasdfghjkl",
  "qwertyuiopasdfghjklzxcvbnm",
  "thisismypassword",
  "thisisnotapassword",
  "trustno1trustno1",
  "welcomewelcome1",
  "zaq12wsxcde34rfv",
]);

/** Why this cannot be the user's password; undefined: it can. */
export function faultOfPassword(
  chosen: string,
  { username, email }: { username: string; email: string },
): string | undefined {
  const password = normal(chosen);
  const { length } = Array.from(password);
  if (length < LEAST) return `Choose at least ${LEAST} characters. A few words with spaces between them are good.`;
  if (length > MOST) return `Choose at most ${MOST} characters.`;
  const plain = plainOf(password);
  if (isRepeated(plain) || new Set(plain).size < FEWEST_DIFFERENT)
    return "Choose something with more variety: this one repeats itself.";
  const own = [username, email, email.split("@")[0] ?? "", "moorage"].map(plainOf);
  if (own.some((word) => word.length >= 3 && plain.replaceAll(word, "").length < LEAST / 2))
    return "Choose something without your user name, mail address or our name.";
  if (common.has(plain))
    return "Many people use this password, so it is among the first that are tried. Choose another.";
  return undefined;
}

const plainOf = (text: string): string => text.toLowerCase().replaceAll(/[\s\p{P}\p{S}]/gu, "");

/** `abcabcabc`: whatever its length, it is as weak as its repeated part. */
const isRepeated = (text: string): boolean => text.length > 0 && `${text}${text}`.indexOf(text, 1) < text.length;
