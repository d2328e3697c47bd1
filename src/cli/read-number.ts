import { usageFailure } from "./failure.ts";

/** A whole number that a flag gives. */
export function readCount(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageFailure(`${flag}: "${text}" is no whole number from ${min} to ${max}.`);
}
