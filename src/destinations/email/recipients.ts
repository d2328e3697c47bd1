import type { AttemptRecordPart } from "../sender.ts";
import type { RecipientFault } from "./smtp-outcome.ts";

/**
 * Which recipients have a message already. An SMTP server may accept it for some recipients and not for others, and
 * those who have it must not get it again. So the record of each attempt contains the state of all recipients, and the
 * next attempt continues from there.
 */
export interface RecipientStates {
  readonly generation: number;
  readonly accepted: readonly string[];
  /** Rejected permanently. */
  readonly refused: readonly StatedFault[];
  /** Rejected for now. */
  readonly deferred: readonly StatedFault[];
}

export interface StatedFault {
  readonly address: string;
  readonly answer: string;
}

/** The recipients of an attempt, and the states of the others. */
export interface OpenRecipients {
  readonly open: readonly string[];
  readonly before: RecipientStates;
}

/**
 * A retry goes to the recipients that the server deferred. A replay goes to all; but if the delivery had ended while
 * some recipients did not have the message, only to these.
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

/** The states after an attempt to `open`. Without faults, the server accepted the message for all of them. */
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
    // When the message failed before the server was asked for any recipient, the deferred ones stay as they were.
    deferred: isTaken || faults.length > 0 ? deferred : before.deferred,
  };
}

function findStates(earlier: readonly AttemptRecordPart[] | undefined): RecipientStates | undefined {
  return earlier?.map(readStates).findLast((states) => states !== undefined);
}

const toStated = ({ address, answer }: RecipientFault): StatedFault => ({ address, answer });

/** Nothing is known about an interrupted attempt. */
function readStates({ responseHeaders }: AttemptRecordPart): RecipientStates | undefined {
  if (responseHeaders === undefined) return undefined;
  const kept = JSON.parse(responseHeaders) as Partial<RecipientStates>;
  return kept.accepted === undefined ? undefined : (kept as RecipientStates);
}
