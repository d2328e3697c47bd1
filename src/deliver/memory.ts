import type { ClaimedDelivery } from "../store/port/lanes.ts";
import { held, type Lane } from "./lane.ts";
import type { Slots } from "./slots.ts";

/** What is claimed and waits in memory for its turn: bounded in number over all lanes, and in bytes of bodies. */
export interface Memory {
  /** How many more a lane may claim. */
  roomFor(lane: Lane): number;
  hasRoomForBody(size: number): boolean;
  /** Keeps a place for a delivery that is being recorded. */
  keepPlace(lane: Lane): void;
  freePlace(lane: Lane): void;
  add(lane: Lane, delivery: ClaimedDelivery): void;
  takeFirst(lane: Lane): ClaimedDelivery | undefined;
  take(lane: Lane, eventSeq: number): ClaimedDelivery | undefined;
}

/** Places that a lane has however full the memory is, so that a claim is worth its cost; fewer when lanes are many. */
const OWN_PLACES = 8;
const ALL_OWN_PLACES = 8192;

/** What must be left of the budget for bodies, as a multiple of the one that is added. */
export const LEFT_PER_BODY = 4;

export function createMemory(slots: Slots, maxBodyBytes: number, countLanes: () => number): Memory {
  let bodyBytes = 0;

  /** At least one: no lane ever waits for another to send. Not before half of them are free: one by one costs more. */
  function ownRoom(lane: Lane): number {
    const places = Math.max(1, Math.min(OWN_PLACES, Math.floor(ALL_OWN_PLACES / countLanes())));
    const taken = held(lane) + lane.claiming;
    return taken <= places / 2 ? places - taken : 0;
  }

  /** Only a part of what is left: so there is always room for small ones, however many large ones a tenant has. */
  function hasRoomForBody(size: number): boolean {
    return bodyBytes + size * LEFT_PER_BODY <= maxBodyBytes;
  }

  function takeAt(lane: Lane, at: number): ClaimedDelivery | undefined {
    const delivery = at === 0 ? lane.ready.shift() : lane.ready.splice(at, 1)[0];
    if (delivery === undefined) return undefined;
    bodyBytes -= delivery.event.body?.length ?? 0;
    slots.claimed--;
    return delivery;
  }

  return {
    roomFor: (lane) => Math.max(slots.claimRoom(), ownRoom(lane)),
    hasRoomForBody,
    keepPlace(lane) {
      lane.reserved++;
      slots.claimed++;
    },
    freePlace(lane) {
      lane.reserved--;
      slots.claimed--;
    },
    add(lane, delivery) {
      const size = delivery.event.body?.length ?? 0;
      // Beyond the budget the body is loaded again when it is sent.
      if (!hasRoomForBody(size)) delivery.event = { ...delivery.event, body: undefined };
      else bodyBytes += size;
      lane.ready.push(delivery);
      slots.claimed++;
    },
    takeFirst: (lane) => takeAt(lane, 0),
    take(lane, eventSeq) {
      const at = lane.ready.findIndex((delivery) => delivery.eventSeq === eventSeq);
      return at === -1 ? undefined : takeAt(lane, at);
    },
  };
}
