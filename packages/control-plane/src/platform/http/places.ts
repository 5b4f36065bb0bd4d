/** What one holder (an account, or an address without a token) may have of a process. */
export type Share = {
  /** Places of requests in flight; a further request is refused. */
  places: number;
  /** Requests in progress at once; further ones wait for their turn. */
  atOnce: number;
};

/** The place of one request in flight. */
export type Place = {
  /** Resolves when it is the request's turn; false if the holder has its share, or the place was freed meanwhile. */
  claim(holder: string): Promise<boolean>;
  /** `waiting`: claimed, and its work has not begun. */
  state(): "held" | "waiting" | "free";
  free(): void;
  /** The share that a claim is judged by. */
  share: Share;
};

type Holder = { places: number; inProgress: number; waiting: Set<(mayStart: boolean) => void> };

/**
 * The places of a process, of which each holder gets at most a share: slow requests of one leave places and database
 * connections for the others.
 */
export function createPlaces(most: number, share: Share = { places: most, atOnce: most }) {
  const holders = new Map<string, Holder>();
  let taken = 0;

  const start = (holder: Holder): Promise<boolean> => {
    holder.inProgress++;
    return Promise.resolve(true);
  };
  const end = (name: string, holder: Holder): void => {
    holder.inProgress--;
    const next = holder.waiting.values().next().value;
    if (next !== undefined) {
      holder.inProgress++;
      next(true);
    }
    if (holder.places === 0) holders.delete(name);
  };

  return {
    /** Undefined: all places are taken. */
    take(): Place | undefined {
      if (taken >= most) return undefined;
      taken++;
      let isFree = false;
      let leave = (): void => {};
      let turn: ((mayStart: boolean) => void) | undefined;
      return {
        share,
        state: () => (isFree ? "free" : turn === undefined ? "held" : "waiting"),
        claim(name) {
          const holder = holders.get(name) ?? { places: 0, inProgress: 0, waiting: new Set() };
          if (isFree || holder.places >= share.places) return Promise.resolve(false);
          holders.set(name, holder);
          holder.places++;
          leave = () => {
            holder.places--;
            if (turn === undefined) return end(name, holder);
            turn(false);
          };
          if (holder.inProgress < share.atOnce) return start(holder);
          return new Promise((resolve) => {
            const mine = (mayStart: boolean): void => {
              holder.waiting.delete(mine);
              turn = undefined;
              resolve(mayStart);
            };
            turn = mine;
            holder.waiting.add(mine);
          });
        },
        free() {
          if (isFree) return;
          isFree = true;
          taken--;
          leave();
        },
      };
    },
  };
}
