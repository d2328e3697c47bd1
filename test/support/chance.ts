/** Choices drawn from a seed. */
import { createSeededRandom } from "./seeded-random.ts";
import type { Random } from "../../src/model/clock.ts";

export interface Chance {
  readonly random: Random;
  isTrue(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number;
  between(min: number, max: number): number;
  pick<T>(from: readonly T[]): T;
  /** One that goes its own way from here, so that a change in one part of a scenario leaves the others alone. */
  fork(): Chance;
}

export function createChance(seed: number): Chance {
  const random = createSeededRandom(seed);
  const between = (min: number, max: number) => min + random.next() * (max - min);
  const whole = (min: number, max: number) => Math.floor(between(min, max + 1));
  return {
    random,
    isTrue: (probability) => random.next() < probability,
    whole,
    between,
    pick: <T>(from: readonly T[]) => from[whole(0, from.length - 1)] as T,
    fork: () => createChance(Math.floor(random.next() * 2 ** 52)),
  };
}
