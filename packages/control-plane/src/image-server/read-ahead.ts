/** The results of `work` for each number from `first` to before `end`, in order, with some of them begun beforehand. */
export async function* readAhead<T>(
  { first, end, ahead }: { first: number; end: number; ahead: number },
  work: (index: number) => Promise<T>,
): AsyncGenerator<T> {
  const begun: Promise<T>[] = [];
  const begin = (index: number): void => {
    const result = work(index);
    // It is told when its turn comes. Until then, or if whoever reads goes away, nobody listens.
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
