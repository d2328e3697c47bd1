import { BrokerFault } from "../../queues/broker-fault.ts";
import { createConnections } from "../../queues/connections.ts";
import { listConnections } from "../../config/connections.ts";
import type { Config } from "../../config/settings-tree.ts";
import { createSystemClock } from "../../model/clock.ts";
import type { Judge } from "./findings.ts";

const DEADLINE_MS = 10_000;
/** Any name will do: only a connected client learns that the queue does not exist. */
const ANY_QUEUE = "posthorn-doctor";

/** Connects to each configured broker and sends one request. */
export async function checkBrokers(config: Config, judge: Judge): Promise<void> {
  const inputs = listConnections(config);
  if (inputs.length === 0) return judge("ok", "none is configured");
  const connections = createConnections({
    connections: inputs,
    label: "posthorn doctor",
    clock: createSystemClock(),
    random: { next: Math.random },
  });
  try {
    await Promise.all(
      inputs.map(async ({ kind, name }) => {
        const place = `${kind} ${name}`;
        const fault = await findFault(connections.find(kind, name)?.depth(ANY_QUEUE));
        if (fault === undefined) judge("ok", `${place} answers`);
        else judge("problem", `${place}: ${fault}`);
      }),
    );
  } finally {
    await connections.close();
  }
}

async function findFault(asked: Promise<unknown> | undefined): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(
      resolve,
      DEADLINE_MS,
      `no answer within ${DEADLINE_MS / 1000} s; check the address and the network`,
    );
  });
  try {
    return await Promise.race([Promise.resolve(asked).then(() => undefined), late]);
  } catch (error) {
    if (!(error instanceof BrokerFault)) throw error;
    return error.isOfConnection ? error.message : undefined;
  } finally {
    clearTimeout(timer);
  }
}
