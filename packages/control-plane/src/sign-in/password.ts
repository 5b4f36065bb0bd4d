import { randomBytes } from "node:crypto";
import { hash, parseOptions, verify } from "@node-rs/argon2";

/** The least that OWASP advises for argon2id. A hash names its own, so raising these changes no password. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** How passwords are kept and compared; argon2id, which is the library's default. */
export type Passwords = {
  hash(password: string): Promise<string>;
  /** Null: whoever it is has no password, or is nobody. It takes the same work. */
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

/** The same letters typed on another keyboard are the same password. */
export const normal = (password: string): string => password.normalize("NFKC");
