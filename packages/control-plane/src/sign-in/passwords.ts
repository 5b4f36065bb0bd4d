import { randomBytes } from "node:crypto";
import type { Text } from "@moorage/contract/texts";
import { hash, parseOptions, verify } from "@node-rs/argon2";
import { texts } from "./rules/texts.ts";

/** OWASP's minimum for argon2id. Each hash contains its own parameters, so raising these invalidates no password. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** NIST SP 800-63B-4 requires 15 where a password can be the only factor, and no rules about kinds of characters. */
const LEAST = 15;
const MOST = 128;
const FEWEST_DIFFERENT = 5;

/** Storing and comparing passwords, with argon2id, the library's default. */
export type Passwords = {
  hash(password: string): Promise<string>;
  /** Null: the user does not exist or has no password. The comparison takes the same work. */
  matches(kept: string | null, password: string): Promise<boolean>;
  isOutdated(kept: string): boolean;
};

export function createPasswords(): Passwords {
  const nobodys = hash(randomBytes(32), cost);
  return {
    hash: (password) => hash(normal(password), cost),
    async matches(kept, password) {
      const matches = await verify(kept ?? (await nobodys), normal(password));
      return kept !== null && matches;
    },
    isOutdated(kept) {
      const { memoryCost, timeCost, parallelism } = parseOptions(kept);
      return memoryCost !== cost.memoryCost || timeCost !== cost.timeCost || parallelism !== cost.parallelism;
    },
  };
}

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

/** The same characters typed on another keyboard are the same password. */
const normal = (password: string): string => password.normalize("NFKC");

const plainOf = (text: string): string => text.toLowerCase().replaceAll(/[\s\p{P}\p{S}]/gu, "");

/** `abcabcabc`: whatever its length, it is as weak as its repeated part. */
const isRepeated = (text: string): boolean => text.length > 0 && `${text}${text}`.indexOf(text, 1) < text.length;

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
