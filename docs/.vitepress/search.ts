import type { DefaultTheme } from "vitepress";

/**
 * Runs at build time for the index, and in the browser for what is typed. VitePress copies the function's source text
 * into the page, so it uses nothing from outside.
 */
function processTerm(term: string): string | null {
  const common =
    " a an and are as at be been but by can could did do does for from get has have how i if in into is it its me my of on or our should so than that the their then there this to use using was we what when where which who why will with would you your ";
  const word = term.toLowerCase().replace(/['’]s$/, "");
  if (common.includes(` ${word} `)) return null;
  // Forms of one word: backup and backups, connect and connecting, restore and restored.
  const stem = word.replace(/(ies|ied)$/, "y").replace(/(ings?|ed|es|s|e)$/, "");
  return stem.length < 3 ? word : stem;
}

/** Reference lists and decisions have every word: they come after the pages that explain. */
function boostDocument(id: unknown): number {
  const path = String(id);
  if (path.startsWith("/messages")) return 0.2;
  if (/^\/(adr|changelog|dependencies|where-the|testing|performance)/.test(path)) return 0.4;
  return 1;
}

export const searchOptions: DefaultTheme.LocalSearchOptions = {
  miniSearch: {
    options: { processTerm },
    searchOptions: {
      boostDocument,
      boost: { title: 4, titles: 3, text: 1 },
      fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
      prefix: (term: string) => term.length > 2,
    },
  },
};
