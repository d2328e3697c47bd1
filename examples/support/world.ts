/** All that an example has started: it ends together, and nothing is left behind. */
export interface World {
  /** Takes over what is being opened. When the world has ended meanwhile, it is closed at once. */
  own<Thing>(name: string, opening: Promise<Thing>, close: (thing: Thing) => Promise<unknown>): Promise<Thing>;
  /** Throws when the world has ended: whoever goes on then must not start anything. */
  guard(): void;
  /** Resolves to the names of what was closed, the last opened first. */
  end(): Promise<readonly string[]>;
}

interface Owned {
  name: string;
  /** Resolves when it is closed, or was never there. */
  close: () => Promise<unknown>;
}

class WorldEnded extends Error {}

export function createWorld(): World {
  const owned: Owned[] = [];
  let hasEnded = false;
  function guard(): void {
    if (hasEnded) throw new WorldEnded("the example has ended");
  }
  return {
    guard,
    async own(name, opening, close) {
      owned.push({
        name,
        close: () =>
          opening.then(
            (thing) => close(thing),
            () => undefined,
          ),
      });
      const thing = await opening;
      guard();
      return thing;
    },
    async end() {
      hasEnded = true;
      const ending = owned.splice(0).toReversed();
      await Promise.all(ending.map(({ close }) => close()));
      return ending.map(({ name }) => name);
    },
  };
}
