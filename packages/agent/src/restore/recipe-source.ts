import type { Recipe } from "@moorage/contract/agent";

/** The recipe's URLs expire during a long restore; the recipe is then requested again. It yields the same data. */
export function recipeSource(requestRecipe: () => Promise<Recipe>) {
  let known: Promise<Recipe> | undefined;
  const get = (): Promise<Recipe> => {
    const pending = known ?? requestRecipe();
    known = pending;
    pending.catch(() => {
      if (known === pending) known = undefined;
    });
    return pending;
  };
  return {
    get,
    renew: (): void => {
      known = undefined;
    },
  };
}
export type RecipeSource = ReturnType<typeof recipeSource>;
