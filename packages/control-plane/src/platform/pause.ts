/** The pause of a loop between two rounds. Woken in it, or in the round before it, the loop goes on at once. */
export function createPause(ms: number) {
  let woken = false;
  let end = (): void => {};
  return {
    wake(): void {
      woken = true;
      end();
    },
    async pause(): Promise<void> {
      if (!woken)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      woken = false;
    },
  };
}
