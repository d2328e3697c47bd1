import { createApiClient, type ApiClient } from "./api-client.ts";
import type { BrokenPromises } from "./broken-promises.mjs";
import { ADMIN_KEY, startGatewayProcess, type GatewayProcess } from "./gateway-process.ts";

/** A gateway process that has started with many events waiting for one subscription, which is paused. */
export interface GatewayWithBacklog {
  readonly client: ApiClient;
  /** What it took to listen with nothing waiting, and with all of it. */
  readonly emptyMs: number;
  readonly readyMs: number;
  /** Everything that waits is due. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

const BATCH = 1000;
const TEXT = "x".repeat(900);

export async function startWithBacklog(
  folder: string,
  sinkUrl: string,
  backlog: number,
  broken: BrokenPromises = {},
): Promise<GatewayWithBacklog> {
  let gateway: GatewayProcess | undefined;
  let url = "";
  async function start(): Promise<number> {
    const startedAt = performance.now();
    gateway = startGatewayProcess({ folder, broken });
    url = await gateway.ready;
    return performance.now() - startedAt;
  }
  const client = createApiClient({ url: () => url }, ADMIN_KEY);
  const emptyMs = await start();
  const { id } = await client.subscribe({ name: "later", url: sinkUrl, status: "inactive" });
  for (let sent = 0; sent < backlog; sent += BATCH) {
    const events = Array.from({ length: BATCH }, (_, n) => ({
      event_type: "load.event",
      payload: { text: TEXT, n: sent + n },
    }));
    const { status, text } = await client.publish(events);
    if (status !== 202) throw new Error(`publishing answered ${status}: ${text}`);
  }
  await gateway?.kill("SIGTERM");
  const readyMs = await start();
  return {
    client,
    emptyMs,
    readyMs,
    async resume() {
      const { status, text } = await client.post(`/api/v1/subscriptions/${id}/resume`);
      if (status !== 200) throw new Error(`resuming answered ${status}: ${text}`);
    },
    close: async () => void (await gateway?.kill("SIGTERM")),
  };
}
