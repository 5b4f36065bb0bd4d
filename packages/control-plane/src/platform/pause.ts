/**
 * The pause of a loop between two rounds. Woken during the pause or the round before it, the loop continues at once.
 */
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
