import { notAccepted } from "../../../src/accept/fan-out.ts";
import type { Store } from "../../../src/store/store.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../../support/test-gateway.ts";
import type { PulledHarness, PulledPlace } from "../pulled-source-contract.ts";
import { withPort } from "../../support/with-port.ts";

/** A gateway with one pulled source, `queue`, and a destination that wants all of it. */
export interface PullingGateway {
  readonly gateway: TestGateway;
  readonly place: PulledPlace;
  readonly sink: SinkServer;
  /** How its store takes events; `calls` are those that came. */
  readonly accepts: Accepts;
  listEvents(): Promise<readonly { event_id: string; status: string }[]>;
  /** Stops and starts it while its time goes on: what does not end by itself is cut off. */
  restart(change?: Pick<TestGatewayOptions, "env">): Promise<void>;
  /** Ends it: first with its time held, so that nothing is cut off while that runs, then while its time goes on. */
  stop(first?: () => Promise<void>): Promise<void>;
}

export interface Accepts {
  mode: "good" | "held back" | "failing" | "lost before" | "lost after";
  calls: number;
  /** Lets go what was held back. */
  release(): void;
}

export interface PullingOptions {
  source?: Readonly<Record<string, unknown>>;
  /** Beside its options. */
  settings?: Readonly<Record<string, unknown>>;
  env?: Readonly<Record<string, string | number | boolean>>;
  mode?: Accepts["mode"];
}

/** For what a real broker does in its own time. */
export const PATIENCE_MS = 30_000;

export async function withPullingGateway(
  harness: PulledHarness,
  options: PullingOptions,
  run: (pulling: PullingGateway) => Promise<void>,
): Promise<void> {
  const late: { gateway?: TestGateway } = {};
  const place = await harness.open(() => late.gateway?.now() ?? Date.now(), undefined);
  const sink = await openSinkServer();
  const accepts = createAccepts(options.mode ?? "good");
  const gateway = await startTestGateway({
    sourceKinds: [place.kind],
    env: options.env ?? {},
    broken: harness.broken ?? {},
    makers: { openStore: (open) => async (url, given) => accepts.wrap(await open(url, given)) },
  });
  late.gateway = gateway;
  const whileTimeGoesOn = async (ending: Promise<void>) => {
    const over = ending.then(() => "over" as const);
    do gateway.moveClock(500);
    while ((await Promise.race([over, turns()])) !== "over");
  };
  try {
    await gateway.subscribe({ name: "all", url: sink.url, retry_policy: { delays_s: [1, 1] } });
    const settings = { options: { ...place.options, ...options.source }, ...options.settings };
    const source = { name: "queue", kind: place.kind.name, ...settings };
    const { status, text } = await gateway.post("/api/v1/sources", source);
    if (status !== 201) throw new Error(`no source: ${status} ${text}`);
    await run({
      gateway,
      place,
      sink,
      accepts,
      listEvents: async () => (await gateway.get("/api/v1/events?source=queue")).json["data"] as never,
      restart: (change) => whileTimeGoesOn(gateway.restart(change)),
      async stop(first) {
        const goOn = gateway.holdClock();
        const ending = gateway.stop();
        try {
          await first?.();
        } finally {
          goOn();
          await whileTimeGoesOn(ending);
        }
      },
    });
  } finally {
    accepts.mode = "good";
    accepts.release();
    await whileTimeGoesOn(gateway.close());
    await sink.close();
    await place.close();
  }
}

function createAccepts(first: Accepts["mode"]): Accepts & { wrap(store: Store): Store } {
  let held: (() => void)[] = [];
  const accepts = {
    mode: first,
    calls: 0,
    release() {
      const free = held;
      held = [];
      for (const go of free) go();
    },
    wrap: (store: Store): Store =>
      withPort(store, "events", {
        accept(event, deliveries, done) {
          accepts.calls++;
          switch (accepts.mode) {
            case "good":
              return store.events.accept(event, deliveries, done);
            case "held back":
              return void held.push(() => store.events.accept(event, deliveries, done));
            case "failing":
              return queueMicrotask(() => done(notAccepted(new PosthornError("store_full", "no room"))));
            case "lost before":
              return undefined;
            case "lost after":
              return store.events.accept(event, deliveries, () => undefined);
          }
        },
      }),
  };
  return accepts;
}

/** Until what is due has happened, and what follows from it without time, as far as that is known. */
export async function turns(): Promise<void> {
  // Timers run in the order of their times: what is due by now runs before this one.
  await new Promise((resolve) => setTimeout(resolve, 2));
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}
