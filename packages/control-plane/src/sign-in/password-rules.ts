import type { Text } from "@moorage/contract/texts";
import { normal } from "./password.ts";
import { texts } from "./texts.ts";

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
): Text | undefined {
  const password = normal(chosen);
  const { length } = Array.from(password);
  if (length < LEAST) return texts.passwordTooShort({ least: LEAST });
  if (length > MOST) return texts.passwordTooLong({ most: MOST });
  const plain = plainOf(password);
  if (isRepeated(plain) || new Set(plain).size < FEWEST_DIFFERENT) return texts.passwordRepetitive();
  const own = [username, email, email.split("@")[0] ?? "", "moorage"].map(plainOf);
  if (own.some((word) => word.length >= 3 && plain.replaceAll(word, "").length < LEAST / 2))
    return texts.passwordContainsName();
  return common.has(plain) ? texts.passwordCommon() : undefined;
}

const plainOf = (text: string): string => text.toLowerCase().replaceAll(/[\s\p{P}\p{S}]/gu, "");

/** `abcabcabc`: whatever its length, it is as weak as its repeated part. */
const isRepeated = (text: string): boolean => text.length > 0 && `${text}${text}`.indexOf(text, 1) < text.length;
