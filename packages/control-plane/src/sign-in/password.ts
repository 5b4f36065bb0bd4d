import { randomBytes } from "node:crypto";
import { hash, parseOptions, verify } from "@node-rs/argon2";

/** OWASP's minimum for argon2id. Each hash contains its own parameters, so raising these invalidates no password. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

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

/** The same characters typed on another keyboard are the same password. */
export const normal = (password: string): string => password.normalize("NFKC");
