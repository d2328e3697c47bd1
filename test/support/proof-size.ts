/**
 * How much a proof does. `npm test` runs them all in their short form, which asserts counts and never times;
 * `npm run proofs` in the middle one, which judges time as a ratio to what is measured beside it; `…:long` in full.
 */
export type ProofSize = "short" | "middle" | "long";

const SIZES: readonly ProofSize[] = ["short", "middle", "long"];

export const PROOF_SIZE = parseProofSize(process.env["PROOFS"] ?? "short");

export function sized<Value>(sizes: Readonly<Record<ProofSize, Value>>): Value {
  return sizes[PROOF_SIZE];
}

/** How many times as long as what is measured beside it something may take: only a run that does nothing else judges. */
export function timeLimit(ratio: number): number {
  return PROOF_SIZE === "short" ? Number.POSITIVE_INFINITY : ratio;
}

/** How many times as long a control must take to show that the proof can fail. */
export function timeExcess(ratio: number): number {
  return PROOF_SIZE === "short" ? 0 : ratio;
}

function parseProofSize(text: string): ProofSize {
  const size = SIZES.find((one) => one === text);
  if (size === undefined) throw new Error(`PROOFS is ${JSON.stringify(text)}; it can be ${SIZES.join(", ")}`);
  return size;
}
