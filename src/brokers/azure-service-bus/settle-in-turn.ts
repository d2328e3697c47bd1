import type { ServiceBusReceiver } from "@azure/service-bus";

type Act = "complete" | "abandon" | "dead-letter";

interface Turns {
  now: Promise<void>;
  act: Act | undefined;
}

const turnsOf = new WeakMap<ServiceBusReceiver, Turns>();

/**
 * The package writes what is settled in one turn of the event loop together, and its AMQP (rhea 3.0) gives the second of
 * two messages that follow each other the outcome of the first: one to be parked would be completed, and lost. So only
 * what has one and the same outcome is settled in one turn.
 */
export async function settleInTurn<Answer>(
  receiver: ServiceBusReceiver,
  act: Act,
  settle: () => Promise<Answer>,
): Promise<Answer> {
  const turns = turnsOf.get(receiver) ?? { now: Promise.resolve(), act: undefined };
  turnsOf.set(receiver, turns);
  // No two reasons of dead letters are the same.
  if (turns.act !== act || act === "dead-letter") {
    turns.act = act;
    turns.now = turns.now.then(() => new Promise((resolve) => setImmediate(resolve)));
  }
  await turns.now;
  return settle();
}
