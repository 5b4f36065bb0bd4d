import type { ImageStore } from "#images/index.ts";

/** Runs `work` once, just before the next such call to the store. */
export function justBefore(store: ImageStore, call: "list" | "putWhole", work: () => Promise<unknown>): void {
  const first = async (): Promise<void> => {
    Object.assign(store, { list, putWhole });
    await work();
  };
  const { list, putWhole } = store;
  if (call === "list")
    store.list = async function* (prefix) {
      await first();
      yield* list(prefix);
    };
  else
    store.putWhole = async (...given) => {
      await first();
      await putWhole(...given);
    };
}
