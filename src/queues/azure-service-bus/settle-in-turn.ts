import type { ServiceBusReceiver } from "@azure/service-bus";

type Act = "complete" | "abandon" | "dead-letter";

interface Turns {
  now: Promise<void>;
  act: Act | undefined;
}

const turnsOf = new WeakMap<ServiceBusReceiver, Turns>();

/**
 * The package writes all settlements of one event loop turn together, and its AMQP library (rhea 3.0) then gives the
 * second of two consecutive messages the outcome of the first: a message to be parked would be completed, and lost. So
 * only settlements with the same outcome happen in one turn.
 */
export async function settleInTurn<Answer>(
  receiver: ServiceBusReceiver,
  act: Act,
  settle: () => Promise<Answer>,
): Promise<Answer> {
  const turns = turnsOf.get(receiver) ?? { now: Promise.resolve(), act: undefined };
  turnsOf.set(receiver, turns);
  // Each dead letter has its own reason.
  if (turns.act !== act || act === "dead-letter") {
    turns.act = act;
    turns.now = turns.now.then(() => new Promise((resolve) => setImmediate(resolve)));
  }
  await turns.now;
  return settle();
}
