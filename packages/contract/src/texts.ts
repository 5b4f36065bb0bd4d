/** What a person reads: a refusal, the message of an event, a notification, a mail. The code never changes. */
export type Text = { readonly code: string; readonly text: string };

type Entry<Args extends unknown[]> = { write: (...args: Args) => string; example: Args };
type AnyEntry = { write: (...args: never) => string; example: unknown[] };
type Texts<Entries> = {
  readonly [Name in keyof Entries]: Entries[Name] extends Entry<infer Args> ? (...args: Args) => Text : never;
};

/** One text and the arguments of its example in docs/messages.md. Its type is that of `write`, not of the example. */
export const text = <Args extends unknown[]>(
  write: (...args: Args) => string,
  ...example: NoInfer<Args>
): Entry<Args> => ({
  write,
  example,
});

/** The example of every text, by code, for the generated page. Written only when that is generated. */
export const catalogue = new Map<string, () => string>();

/**
 * The texts of one capability, as functions. The code of `primaryUnreachable` in the area `database` is
 * `database.primary_unreachable`; logs, metrics and tests use the code, never the sentence.
 */
export function defineTexts<Entries extends Record<string, AnyEntry>>(area: string, entries: Entries): Texts<Entries> {
  const functions = Object.entries(entries).map(([name, { write, example }]) => {
    const code = `${area}.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
    if (catalogue.has(code)) throw new Error(`Two texts have the code ${code}.`);
    catalogue.set(code, () => write(...(example as never)));
    return [name, (...args: never): Text => ({ code, text: write(...args) })];
  });
  return Object.fromEntries(functions) as Texts<Entries>;
}
