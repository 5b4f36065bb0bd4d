export const LONGEST_LABEL = 64;

/** The label, with the lowest suffix number that makes it unique if it is taken. */
export function freeLabel(label: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? "" : `-${n}`;
    const candidate = `${label.slice(0, LONGEST_LABEL - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}
