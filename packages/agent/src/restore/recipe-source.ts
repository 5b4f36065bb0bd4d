import type { Recipe } from "@moorage/contract/agent";

/** Its addresses end sooner than a long restore: then it is asked for again. It leads to the same data each time. */
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
