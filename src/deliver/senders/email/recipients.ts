import type { AttemptRecordPart } from "../sender.ts";
import type { RecipientFault } from "./smtp-outcome.ts";

/**
 * Who has a message already. An SMTP server may take it for some recipients and not for others, and those who have it must
 * not get it again. So the record of each attempt says how all of them stand, and the next one begins from there.
 */
export interface RecipientStates {
  readonly generation: number;
  readonly accepted: readonly string[];
  /** For good. */
  readonly refused: readonly StatedFault[];
  /** For now. */
  readonly deferred: readonly StatedFault[];
}

export interface StatedFault {
  readonly address: string;
  readonly answer: string;
}

/** Whom an attempt goes to, and how the others stand. */
export interface OpenRecipients {
  readonly open: readonly string[];
  readonly before: RecipientStates;
}

/**
 * A retry goes to those whom the server put off. A replay goes to all; but when the delivery had ended with some who did
 * not have the message, to these.
 */
export function findOpen(
  all: readonly string[],
  earlier: readonly AttemptRecordPart[] | undefined,
  generation: number,
): OpenRecipients {
  const known = findStates(earlier);
  const isReplay = known !== undefined && known.generation !== generation;
  if (known === undefined || (isReplay && known.deferred.length === 0)) {
    return { open: all, before: { generation, accepted: [], refused: [], deferred: [] } };
  }
  const refused = isReplay ? [] : known.refused;
  const settled = new Set([...known.accepted, ...refused.map(({ address }) => address)]);
  const before = { generation, accepted: known.accepted, refused, deferred: known.deferred };
  return { open: all.filter((address) => !settled.has(address)), before };
}

/** How they stand after an attempt that went to `open`; without faults, the server took it for all of them. */
export function noteAnswer(
  { open, before }: OpenRecipients,
  isTaken: boolean,
  faults: readonly RecipientFault[],
): RecipientStates {
  const isFaulty = (address: string) => faults.some((fault) => fault.address === address);
  const refused = faults.filter(({ isDeferred }) => !isDeferred).map(toStated);
  const deferred = faults.filter(({ isDeferred }) => isDeferred).map(toStated);
  const answered = isTaken ? open.filter((address) => !isFaulty(address)) : [];
  return {
    generation: before.generation,
    accepted: [...before.accepted, ...answered],
    refused: [...before.refused, ...refused],
    // Where the message failed before anybody was asked for, nothing has changed for those who waited.
    deferred: isTaken || faults.length > 0 ? deferred : before.deferred,
  };
}

function findStates(earlier: readonly AttemptRecordPart[] | undefined): RecipientStates | undefined {
  return earlier?.map(readStates).findLast((states) => states !== undefined);
}

const toStated = ({ address, answer }: RecipientFault): StatedFault => ({ address, answer });

/** Of an attempt that was interrupted, nothing is known. */
function readStates({ responseHeaders }: AttemptRecordPart): RecipientStates | undefined {
  if (responseHeaders === undefined) return undefined;
  const kept = JSON.parse(responseHeaders) as Partial<RecipientStates>;
  return kept.accepted === undefined ? undefined : (kept as RecipientStates);
}
