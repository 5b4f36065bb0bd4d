import type { ImageStore } from "#images/index.ts";

/** Does something once, just before the store is next asked for that. */
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
