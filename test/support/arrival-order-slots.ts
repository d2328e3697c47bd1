import type { Lane } from "../../src/deliver/lane.ts";
import { createSlots, type Slots } from "../../src/deliver/slots.ts";

/** Slots as a plain queue hands them out: whoever came first, whoever it is. A negative control for fairness. */
export function createArrivalOrderSlots(maxInFlight: number): Slots {
  const slots = createSlots(maxInFlight);
  const queue: Lane[] = [];
  return {
    ...slots,
    get inFlight() {
      return slots.inFlight;
    },
    enqueue(lane) {
      if (lane.isQueued) return;
      lane.isQueued = true;
      queue.push(lane);
    },
    findNext: () => (slots.inFlight < maxInFlight ? queue[0] : undefined),
    take(lane) {
      queue.shift();
      lane.isQueued = false;
    },
    setSpeed: () => undefined,
  };
}
