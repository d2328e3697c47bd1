import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import { held, type Lane } from "./lane.ts";

/** What is claimed and waits in memory for its turn: bounded in number over all lanes, and in bytes of bodies. */
export interface ReadyDeliveries {
  /** How many more a lane may claim. */
  roomFor(lane: Lane): number;
  hasRoomForBody(size: number): boolean;
  /** Keeps a place for a delivery that is being recorded. */
  keepPlace(lane: Lane): void;
  freePlace(lane: Lane): void;
  /** Keeps places for a claim, until it is answered. */
  beginClaim(lane: Lane, limit: number): void;
  endClaim(lane: Lane): void;
  add(lane: Lane, delivery: ClaimedDelivery): void;
  takeFirst(lane: Lane): ClaimedDelivery | undefined;
  take(lane: Lane, eventSeq: number): ClaimedDelivery | undefined;
}

export interface ReadyDeliveriesOptions {
  maxInFlight: number;
  maxBodyBytes: number;
  countLanes: () => number;
}

/** How many may wait, as a multiple of the slots. */
const PER_SLOT = 16;

/** Places that a lane has however full the memory is, so that a claim is worth its cost; fewer when lanes are many. */
const OWN_PLACES = 8;
const ALL_OWN_PLACES = 8192;

/** What must be left of the budget for bodies, as a multiple of the one that is added. */
export const LEFT_PER_BODY = 4;

export function createReadyDeliveries(options: ReadyDeliveriesOptions): ReadyDeliveries {
  const { maxBodyBytes, countLanes } = options;
  const places = options.maxInFlight * PER_SLOT;
  /** Deliveries, and places that are kept. */
  let taken = 0;
  let bodyBytes = 0;

  /** At least one: no lane ever waits for another to send. Not before half of them are free: one by one costs more. */
  function ownRoom(lane: Lane): number {
    const own = Math.max(1, Math.min(OWN_PLACES, Math.floor(ALL_OWN_PLACES / countLanes())));
    const used = held(lane) + lane.claiming;
    return used <= own / 2 ? own - used : 0;
  }

  /** Only a part of what is left: so there is always room for small ones, however many large ones a tenant has. */
  function hasRoomForBody(size: number): boolean {
    return bodyBytes + size * LEFT_PER_BODY <= maxBodyBytes;
  }

  function takeAt(lane: Lane, at: number): ClaimedDelivery | undefined {
    const delivery = at === 0 ? lane.ready.shift() : lane.ready.splice(at, 1)[0];
    if (delivery === undefined) return undefined;
    const size = delivery.event.body?.length ?? 0;
    bodyBytes -= size;
    lane.readyBytes -= size;
    taken--;
    return delivery;
  }

  return {
    roomFor: (lane) => Math.max(places - taken, ownRoom(lane)),
    hasRoomForBody,
    keepPlace(lane) {
      lane.reserved++;
      taken++;
    },
    freePlace(lane) {
      lane.reserved--;
      taken--;
    },
    beginClaim(lane, limit) {
      lane.claiming = limit;
      taken += limit;
    },
    endClaim(lane) {
      taken -= lane.claiming;
      lane.claiming = 0;
    },
    add(lane, delivery) {
      const size = delivery.event.body?.length ?? 0;
      // Beyond the budget the body is loaded again when it is sent.
      if (!hasRoomForBody(size)) delivery.event = { ...delivery.event, body: undefined };
      else {
        bodyBytes += size;
        lane.readyBytes += size;
      }
      lane.ready.push(delivery);
      taken++;
    },
    takeFirst: (lane) => takeAt(lane, 0),
    take(lane, eventSeq) {
      const at = lane.ready.findIndex((delivery) => delivery.eventSeq === eventSeq);
      return at === -1 ? undefined : takeAt(lane, at);
    },
  };
}
