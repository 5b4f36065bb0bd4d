/** One step of a model: what happened, and the state after it. */
export type Step<S> = { name: string; to: S };

export type Model<S> = {
  initial: S;
  /** Everything that can happen next, in any order of events, with any loss of messages. Changes nothing in its argument. */
  next: (state: S) => Step<S>[];
  /** What is broken in this state; undefined: nothing. */
  fault: (state: S) => string | undefined;
};

export type Searched = { states: number; fault?: { what: string; steps: string[] } };

/** Visits every state that can be reached, each once, the nearest first: a fault has the shortest way to it. */
export function search<S>({ initial, next, fault }: Model<S>): Searched {
  const seen = new Map<string, { from: string; name: string }>([[JSON.stringify(initial), { from: "", name: "" }]]);
  let level = [initial];
  while (level.length > 0) {
    const following: S[] = [];
    for (const state of level) {
      const from = JSON.stringify(state);
      for (const { name, to } of next(state)) {
        const key = JSON.stringify(to);
        if (seen.has(key)) continue;
        seen.set(key, { from, name });
        const what = fault(to);
        if (what !== undefined) return { states: seen.size, fault: { what, steps: stepsTo(key, seen) } };
        following.push(to);
      }
    }
    level = following;
  }
  return { states: seen.size };
}

function stepsTo(key: string, seen: ReadonlyMap<string, { from: string; name: string }>): string[] {
  const steps: string[] = [];
  for (let at = seen.get(key); at !== undefined && at.name !== ""; at = seen.get(at.from)) steps.unshift(at.name);
  return steps;
}
