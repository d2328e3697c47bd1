/**
 * How much a proof does. `npm test` runs those in `proofs/sized` in their short form, `npm run proofs` all in the
 * middle one, `…:long` in full. They assert counts; what judges time is in `proofs/timed`, which has no short form.
 */
export type ProofSize = "short" | "middle" | "long";

const SIZES: readonly ProofSize[] = ["short", "middle", "long"];

export const PROOF_SIZE = parseProofSize(process.env["PROOFS"] ?? "short");

export function sized<Value>(sizes: Readonly<Record<ProofSize, Value>>): Value {
  return sizes[PROOF_SIZE];
}

/** For proofs that have no short form. */
export function sizedHeavy<Value>(sizes: Readonly<Record<Exclude<ProofSize, "short">, Value>>): Value {
  return PROOF_SIZE === "long" ? sizes.long : sizes.middle;
}

function parseProofSize(text: string): ProofSize {
  const size = SIZES.find((one) => one === text);
  if (size === undefined) throw new Error(`PROOFS is ${JSON.stringify(text)}; it can be ${SIZES.join(", ")}`);
  return size;
}
