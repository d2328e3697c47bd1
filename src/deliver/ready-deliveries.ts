import type { ClaimedDelivery } from "../store/port/lanes.ts";
import { addReady, held, type Lane, takeReady } from "./lane.ts";

/**
 * Claimed deliveries that wait in memory for their turn: their number over all lanes and the bytes of their bodies are
 * limited.
 */
export type ReadyDeliveries = ReturnType<typeof createReadyDeliveries>;

export interface ReadyDeliveriesOptions {
  maxInFlight: number;
  maxBodyBytes: number;
  countLanes: () => number;
}

/** How many deliveries may wait, as a multiple of the slots. */
const PER_SLOT = 16;

/**
 * Places that a lane always has, however full the memory is, so that a claim is worth its cost; fewer when there are
 * many lanes.
 */
const OWN_PLACES = 8;
const ALL_OWN_PLACES = 8192;

/** How much of the budget for bodies must stay free, as a multiple of the body that is added. */
export const LEFT_PER_BODY = 4;

export function createReadyDeliveries({ maxInFlight, maxBodyBytes, countLanes }: ReadyDeliveriesOptions) {
  const places = maxInFlight * PER_SLOT;
  /** Deliveries in memory plus reserved places. */
  let taken = 0;
  let bodyBytes = 0;

  /**
   * At least one, so that no lane waits for another to send. Nothing until half of the places are free: claiming one by
   * one costs more.
   */
  function ownRoom(lane: Lane): number {
    const own = Math.max(1, Math.min(OWN_PLACES, Math.floor(ALL_OWN_PLACES / countLanes())));
    const used = held(lane) + lane.claiming;
    return used <= own / 2 ? own - used : 0;
  }

  /**
   * A body may take only a part of the free budget: there is always room for small bodies, however many large ones a
   * tenant has.
   */
  function hasRoomForBody(size: number): boolean {
    return bodyBytes + size * LEFT_PER_BODY <= maxBodyBytes;
  }

  function takeAt(lane: Lane, at: number): ClaimedDelivery | undefined {
    const delivery = takeReady(lane, at);
    if (delivery === undefined) return undefined;
    bodyBytes -= delivery.event.body?.length ?? 0;
    taken--;
    return delivery;
  }

  return {
    /** How many more deliveries a lane may claim. */
    roomFor: (lane: Lane): number => Math.max(places - taken, ownRoom(lane)),
    hasRoomForBody,
    /** Reserves a place for a delivery that is being recorded. */
    keepPlace(lane: Lane): void {
      lane.reserved++;
      taken++;
    },
    freePlace(lane: Lane): void {
      lane.reserved--;
      taken--;
    },
    /** Reserves places for a claim until it is answered. */
    beginClaim(lane: Lane, limit: number): void {
      lane.claiming = limit;
      taken += limit;
    },
    endClaim(lane: Lane): void {
      taken -= lane.claiming;
      lane.claiming = 0;
    },
    add(lane: Lane, delivery: ClaimedDelivery): void {
      const size = delivery.event.body?.length ?? 0;
      const isKept = hasRoomForBody(size);
      // When the budget is full, the body is dropped here and loaded again for the attempt.
      if (!isKept) delivery.event = { ...delivery.event, body: undefined };
      else bodyBytes += size;
      addReady(lane, delivery, isKept ? size : 0);
      taken++;
    },
    takeFirst: (lane: Lane): ClaimedDelivery | undefined => takeAt(lane, 0),
    take(lane: Lane, eventSeq: number): ClaimedDelivery | undefined {
      const at = lane.ready.findIndex((delivery) => delivery.eventSeq === eventSeq);
      return at === -1 ? undefined : takeAt(lane, at);
    },
  };
}
