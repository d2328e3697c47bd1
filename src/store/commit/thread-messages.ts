/** How a batch and its answer are sent between threads: hot parts packed and transferred, the rest cloned. */
import { stored, type Duplicate, type Stored } from "../../model/accepted.ts";
import type { LoggedRequest } from "../port/event-log.ts";
import type { ClaimRequest, ClaimResult, Settled } from "../port/lanes.ts";
import { packAccepts, packClaimed, packSettles, unpackAccepts, unpackClaimed, unpackSettles } from "./batch-packing.ts";
import type { BatchResult, BatchTime, Command, FaultReport, OrFault, WriteBatch } from "./batch.ts";

export interface BatchMessage {
  at: BatchTime;
  rows: number;
  /** Undefined when there are none, here and below: transferring a buffer costs more than small contents. */
  accepts: ArrayBuffer | undefined;
  settles: ArrayBuffer | undefined;
  commands: Command[];
  requests: LoggedRequest[];
  claims: ClaimRequest[];
}

export interface ResultMessage {
  /** Sequence numbers; a negative number is an index into `special`. */
  accepts: Float64Array | undefined;
  /** For each delivery of the accepted events, in order, one character: whether it was claimed. */
  claimedOnInsert: string;
  special: OrFault<Duplicate>[];
  /** Undefined in the usual case, when nothing follows. */
  settles: (OrFault<Omit<Settled, "next"> & { hasNext: boolean }> | undefined)[];
  commands: BatchResult["commands"];
  claims: OrFault<Omit<ClaimResult, "claimed"> & { count: number }>[];
  /** First those of claims, then those of settlements. */
  claimed: ArrayBuffer | undefined;
  fatal: FaultReport | undefined;
  damages: BatchResult["damages"];
}

export function toBatchMessage(batch: WriteBatch): { message: BatchMessage; transfer: ArrayBuffer[] } {
  const accepts = batch.accepts.length === 0 ? undefined : packAccepts(batch.accepts);
  const settles = batch.settles.length === 0 ? undefined : packSettles(batch.settles);
  const { at, rows, commands, requests, claims } = batch;
  const message = { at, rows, accepts, settles, commands, requests, claims };
  return { message, transfer: [accepts, settles].filter((buffer) => buffer !== undefined) };
}

export function fromBatchMessage(message: BatchMessage): WriteBatch {
  const { at, rows, commands, requests, claims } = message;
  const accepts = message.accepts === undefined ? [] : unpackAccepts(message.accepts);
  const settles = message.settles === undefined ? [] : unpackSettles(message.settles);
  return { at, rows, accepts, settles, commands, requests, claims };
}

const CLAIMED = "1";
const WAITS = "0";

export function toResultMessage(result: BatchResult): { message: ResultMessage; transfer: ArrayBuffer[] } {
  const accepts = result.accepts.length === 0 ? undefined : new Float64Array(result.accepts.length);
  const special: OrFault<Duplicate>[] = [];
  let claimedOnInsert = "";
  result.accepts.forEach((accepted, i) => {
    if (accepts === undefined) return;
    if ("eventSeq" in accepted) {
      accepts[i] = accepted.eventSeq;
      for (const isClaimed of accepted.claimed) claimedOnInsert += isClaimed ? CLAIMED : WAITS;
    } else {
      accepts[i] = -special.push(accepted);
    }
  });
  const handedOver = [
    ...result.claims.flatMap((claim) => ("failed" in claim ? [] : claim.claimed)),
    ...result.settles.flatMap((settle) => ("failed" in settle || settle.next === undefined ? [] : [settle.next])),
  ];
  const claimed = handedOver.length === 0 ? undefined : packClaimed(handedOver);
  const message: ResultMessage = {
    accepts,
    claimedOnInsert,
    special,
    settles: result.settles.map((settle) => {
      if ("failed" in settle) return settle;
      const { applied, next, movedUp, isKept } = settle;
      if (applied && next === undefined && !movedUp && isKept !== true) return undefined;
      return { applied, movedUp, hasNext: next !== undefined, isKept };
    }),
    commands: result.commands,
    claims: result.claims.map((claim) => {
      if ("failed" in claim) return claim;
      return { count: claim.claimed.length, expired: claim.expired, nextDueAt: claim.nextDueAt, dead: claim.dead };
    }),
    claimed,
    fatal: result.fatal,
    damages: result.damages,
  };
  return { message, transfer: [accepts?.buffer, claimed].filter((buffer) => buffer !== undefined) };
}

const NOTHING_FOLLOWS: Settled = { applied: true, next: undefined, movedUp: false };

export function fromResultMessage(message: ResultMessage, batch: WriteBatch): BatchResult {
  const handedOver = message.claimed === undefined ? [] : unpackClaimed(message.claimed);
  let next = 0;
  const claims = message.claims.map((claim): OrFault<ClaimResult> => {
    if ("failed" in claim) return claim;
    const claimed = handedOver.slice(next, (next += claim.count));
    return { claimed, expired: claim.expired, nextDueAt: claim.nextDueAt, dead: claim.dead };
  });
  const settles = message.settles.map((settle): OrFault<Settled> => {
    if (settle === undefined) return NOTHING_FOLLOWS;
    if ("failed" in settle) return settle;
    const follower = settle.hasNext ? handedOver[next++] : undefined;
    return { applied: settle.applied, movedUp: settle.movedUp, next: follower, isKept: settle.isKept };
  });
  let claimedAt = 0;
  const accepts = batch.accepts.map(({ event, deliveries }, i): OrFault<Stored | Duplicate> => {
    const seq = message.accepts?.[i] ?? 0;
    if (seq < 0) return message.special[-seq - 1] as OrFault<Duplicate>;
    const claimed = deliveries.map(() => message.claimedOnInsert[claimedAt++] === CLAIMED);
    return stored(event.id, seq, claimed);
  });
  return { accepts, settles, claims, commands: message.commands, fatal: message.fatal, damages: message.damages };
}
