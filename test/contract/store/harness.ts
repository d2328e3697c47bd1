import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { NOON, insertSubscription, setTime } from "../../support/store-fixtures.ts";

/** What a driver gives to its contract: a way to open it where nothing was before, at noon. */
export interface StoreHarness {
  open(): Promise<StorePlace>;
}

/** One place where data is kept, and the store that is open on it. Its clock stands still and outlives the store. */
export interface StorePlace {
  readonly store: Store;
  /** What the open store gave to its clock to go on from. */
  readonly lastKnownNow: number;
  /** Closes the store and opens it again in the same place. */
  reopen(): Promise<Store>;
  /** Ends the store as a crash of its process would, and opens what it left behind. */
  kill(): Promise<Store>;
  /** How many transactions were made durable; only differences over a few calls mean something. */
  countCommits(): Promise<number>;
  /** Closes the store and removes the place. */
  remove(): Promise<void>;
}

export const DEDUPE_HORIZON_MS = 7 * 24 * 3_600_000;

interface LaneChange {
  name?: string;
  id?: string;
  tenantId?: string;
}

/** One store for all tests of a suite, each with a lane or a tenant of its own. */
export interface SharedStore {
  readonly store: Store;
  newLane(change?: LaneChange): Promise<number>;
}

export function useStore(harness: StoreHarness): SharedStore {
  let place: StorePlace | undefined;
  beforeAll(async () => {
    place = await harness.open();
  });
  beforeEach(() => setTime(shared.store, NOON));
  afterAll(async () => {
    await place?.remove();
    place = undefined;
  });

  const shared = {
    get store(): Store {
      if (place === undefined) throw new Error("the store is opened before the first test");
      return place.store;
    },
    newLane: (change?: LaneChange) => insertLane(shared.store, change),
  };
  return shared;
}

/** Runs a test on a place of its own. */
export async function inFreshPlace(harness: StoreHarness, run: (place: StorePlace) => Promise<void>): Promise<void> {
  const place = await harness.open();
  try {
    await run(place);
  } finally {
    await place.remove();
  }
}

let lastLane = 0;

export function insertLane(store: Store, { name, ...change }: LaneChange = {}): Promise<number> {
  return insertSubscription(store, name ?? `lane-${++lastLane}`, change);
}
