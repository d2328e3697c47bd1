// Starts the services that test files share, when the first of them asks, and ends them with the run. Test files run in
// processes of their own: they ask by HTTP on loopback, and shared.ts is who asks.
import { appendFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserServer } from "playwright-core";
import { readTreeCpuMs } from "../process-tree.ts";
import { startAzurite, type Azurite } from "./azurite.ts";
import { startRabbitMq, type RabbitMq } from "./rabbitmq.ts";

/** Where the provider of this run listens, for the processes of the run. */
export const PROVIDER_VARIABLE = "POSTHORN_TEST_SERVICES";

/** A virtual host of a file's own. */
export interface RabbitMqPlace {
  url: string;
  /** Of a user who may write and read everything there, and create nothing. */
  limitedUrl: string;
  managementUrl: string;
  vhost: string;
}

/** Names the file to which each service appends its line; scripts/test.mjs adds them up. */
const CPU_LOG = process.env["POSTHORN_TEST_CPU_LOG"];

/** Each file that asks gets one of its own, because names of queues are fixed in parts. */
const VHOSTS = Array.from({ length: 40 }, (_, index) => `test-${index}`);

/** Vitest calls this for each of its projects; all of them are one run. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[PROVIDER_VARIABLE] !== undefined) return undefined;
  let rabbitMq: Promise<RabbitMq | undefined> | undefined;
  let azurite: Promise<Azurite | undefined> | undefined;
  let browser: Promise<BrowserServer | undefined> | undefined;
  let vhosts = 0;

  async function provide(service: string): Promise<string | undefined> {
    if (service === "/azurite") return (await (azurite ??= startAzurite()))?.connectionString;
    if (service === "/chromium") return (await (browser ??= startBrowser()))?.wsEndpoint();
    const node = await (rabbitMq ??= startRabbitMq(VHOSTS, { hasManagement: true }));
    if (node === undefined) return undefined;
    const vhost = VHOSTS[vhosts++ % VHOSTS.length] ?? "";
    const { managementUrl = "" } = node;
    const place: RabbitMqPlace = { url: node.url(vhost), limitedUrl: node.limitedUrl(vhost), managementUrl, vhost };
    return JSON.stringify(place);
  }

  const server = createServer((request, response) => {
    provide(request.url ?? "").then(
      (address) => answer(response, address === undefined ? 404 : 200, address ?? ""),
      (error: unknown) => answer(response, 500, String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  process.env[PROVIDER_VARIABLE] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    await closeServer(server);
    delete process.env[PROVIDER_VARIABLE];
    await closeServices({
      RabbitMQ: await unlessFailed(rabbitMq),
      Azurite: await unlessFailed(azurite),
      Chromium: toService(await unlessFailed(browser)),
    });
  };
}

/** Most runs of a few files need none of what drives it. */
async function startBrowser(): Promise<BrowserServer | undefined> {
  const { openBrowserServer } = await import("../browser.ts");
  return openBrowserServer();
}

function toService(browser: BrowserServer | undefined): Service | undefined {
  if (browser === undefined) return undefined;
  const { pid } = browser.process();
  return { pids: () => (pid === undefined ? [] : [pid]), close: () => browser.close() };
}

/** What could not be started has nothing to close; whoever asked for it knows why. */
async function unlessFailed<Started>(starting: Promise<Started | undefined> | undefined): Promise<Started | undefined> {
  try {
    return await starting;
  } catch {
    return undefined;
  }
}

export interface Service {
  /** Of its processes: those below them count, too. */
  pids(): readonly number[];
  close(): Promise<void>;
}

/** Records what they used, and closes all of them, also when one cannot be closed. */
export async function closeServices(services: Record<string, Service | undefined>, cpuLog = CPU_LOG): Promise<void> {
  const running = Object.entries(services).flatMap(([name, service]) => (service ? [{ name, service }] : []));
  for (const { name, service } of running) {
    const ms = service.pids().reduce((sum, pid) => sum + readTreeCpuMs(pid), 0);
    if (cpuLog !== undefined) appendFileSync(cpuLog, `${JSON.stringify({ service: name, ms })}\n`);
  }
  const closed = await Promise.allSettled(running.map(({ service }) => service.close()));
  const failures = closed.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length > 0) throw new AggregateError(failures, "services of the tests could not be closed");
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { connection: "close" }).end(text);
}

function closeServer(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
