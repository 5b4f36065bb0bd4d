const tickMs = 50;

/** Measures how long this process did not run: on a machine that stands still, no other process runs either. */
export function watchPauses() {
  let [last, longestMs] = [performance.now(), 0];
  const measure = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last - tickMs);
    last = now;
  };
  const timer = setInterval(measure, tickMs);
  return {
    /** Ends the measurement and returns the longest pause, in milliseconds. */
    end(): number {
      clearInterval(timer);
      measure();
      return longestMs;
    },
  };
}
