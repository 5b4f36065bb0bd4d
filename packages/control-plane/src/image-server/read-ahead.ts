/** The results of `work` for each number from `first` to before `end`, in order, with a few started ahead. */
export async function* readAhead<T>(
  { first, end, ahead }: { first: number; end: number; ahead: number },
  work: (index: number) => Promise<T>,
): AsyncGenerator<T> {
  const begun: Promise<T>[] = [];
  const begin = (index: number): void => {
    const result = work(index);
    // An error is thrown when its result is due. Until then, or if the reader leaves, it must not be unhandled.
    result.catch(() => {});
    begun.push(result);
  };
  let next = first;
  while (next < end && next <= first + ahead) begin(next++);
  for (let result = begun.shift(); result !== undefined; result = begun.shift()) {
    yield await result;
    if (next < end) begin(next++);
  }
}
