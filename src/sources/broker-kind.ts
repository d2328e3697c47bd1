import { createClaimCheck } from "../queues/claim-check.ts";
import { BrokerFault } from "../queues/broker-fault.ts";
import type { BrokerConnection, TakenMessage, TakerOptions } from "../queues/broker.ts";
import type { Connections } from "../queues/connections.ts";
import { DEFAULT_CONNECTION, type BrokerKind } from "../model/connection.ts";
import { PosthornError } from "../model/errors.ts";
import { describeExchange, describeQueue } from "../model/queue-place.ts";
import type { Claims } from "./claimed-body.ts";
import { readPullSettings } from "./pull-options.ts";
import { adaptTaker } from "./broker-taker.ts";
import type { KindSettings, PulledSourceKind } from "./source-kind.ts";

/** The differences between brokers. */
export interface BrokerKindSpec {
  name: BrokerKind;
  options: NonNullable<PulledSourceKind["options"]>;
  pull: Pick<PulledSourceKind["pull"], "limits" | "defaults">;
  /** Opens a queue of the broker. */
  describeTaker(options: Readonly<Record<string, unknown>>): Pick<TakerOptions, "parkTo" | "sessions" | "holdMs">;
}

/** Creates the kind of source for a broker's queues. */
export function createBrokerKind(spec: BrokerKindSpec, connections: Connections): PulledSourceKind {
  const claims = new Map<string, Claims>();

  function getConnection(options: Readonly<Record<string, unknown>>): BrokerConnection {
    const name = connectionOf(options);
    const found: BrokerConnection | undefined = connections.find(spec.name, name);
    if (found === undefined) throw new BrokerFault("refused", noConnection(spec.name, name, connections));
    return found;
  }

  return {
    name: spec.name,
    needsSecret: false,
    options: spec.options,
    pull: {
      ...spec.pull,
      check(options) {
        const name = connectionOf(options);
        refuseUnknown(spec.name, name, "options.connection", connections.find(spec.name, name), connections);
        const account = accountOf(options);
        if (account === undefined) return;
        const field = "options.claim_check.connection";
        refuseUnknown("azure-storage-queue", account.name, field, connections.findAccount(account.name), connections);
      },
      async open({ options }) {
        const connection = getConnection(options);
        const queue = String(options["queue"]);
        const placed = { namespace: connections.findNamespace(connectionOf(options)), ...options };
        const { maxUnacknowledged, idleWaitMs } = readPullSettings(options, spec.pull.defaults);
        const place = describeQueue(spec.name, connectionOf(options), queue);
        return adaptTaker({
          taker: connection.openTaker({ ...spec.describeTaker(placed), queue, maxUnacknowledged }),
          waitMs: idleWaitMs,
          depth: async () => (await connection.depth(queue)).ready,
          placesOf: ({ exchange }: TakenMessage) =>
            exchange === undefined ? [place] : [place, describeExchange(connectionOf(options), exchange)],
        });
      },
      findClaims({ options }: KindSettings) {
        const account = accountOf(options);
        const found = account && connections.findAccount(account.name);
        if (account === undefined || found === undefined) return undefined;
        const key = `${account.name} ${account.container}`;
        const known = claims.get(key) ?? createClaimCheck({ ...account, account: found, maxBytes: MAX_CLAIMED_BYTES });
        claims.set(key, known);
        return known;
      },
    },
  };
}

/** The largest limit that a source may set. */
const MAX_CLAIMED_BYTES = 67_108_864;

function connectionOf({ connection = DEFAULT_CONNECTION }: Readonly<Record<string, unknown>>): string {
  return String(connection);
}

function accountOf({ claim_check: given }: Readonly<Record<string, unknown>>) {
  if (typeof given !== "object" || given === null) return undefined;
  const { connection = DEFAULT_CONNECTION, container } = given as { connection?: string; container: string };
  return { name: connection, container };
}

function refuseUnknown(
  kind: BrokerKind,
  name: string,
  field: string,
  found: unknown,
  connections: Pick<Connections, "list">,
): void {
  if (found !== undefined) return;
  throw new PosthornError("invalid_field", `${field}: ${noConnection(kind, name, connections)}`, { field });
}

function noConnection(kind: BrokerKind, name: string, { list }: Pick<Connections, "list">): string {
  const names = list().flatMap((one) => (one.kind === kind ? [one.name] : []));
  const there = names.length === 0 ? "there is none of this kind" : `there are ${names.join(", ")}`;
  return (
    `There is no connection "${name}" of the kind ${kind}; ${there}. Add it under \`connections\` in posthorn.yaml ` +
    "and start the gateway again."
  );
}
