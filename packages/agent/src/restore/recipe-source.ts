import type { Recipe } from "@moorage/contract/agent";

/** Its addresses end sooner than a long restore: then it is asked for again. It leads to the same data each time. */
export function recipeSource(ask: () => Promise<Recipe>) {
  let known: Promise<Recipe> | undefined;
  const get = (): Promise<Recipe> => {
    const asked = known ?? ask();
    known = asked;
    asked.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked;
  };
  return {
    get,
    renew: (): void => {
      known = undefined;
    },
  };
}
export type RecipeSource = ReturnType<typeof recipeSource>;
