import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { until } from "../../support/api-client.ts";
import { startGatewayProcess, type GatewayProcess } from "../../support/gateway-process.ts";
import {
  createOrder,
  EXAMPLE_FOLDER,
  exampleEnvironment,
  hasten,
  readStatus,
  send,
  type Sent,
} from "../../support/n8n-example.ts";
import { openN8nServer, type N8nServer } from "../../support/n8n-server.ts";
import { LAUNCHER } from "../../support/run-cli.ts";
import { runCommand } from "../../support/run-command.ts";
import { useAzurite } from "../../support/services/shared.ts";

let folders: string[];
let n8n: N8nServer;
let gateways: GatewayProcess[];
let env: Record<string, string>;
let queue: string;

beforeEach(async (context: TestContext) => {
  [folders, gateways] = [[], []];
  n8n = await openN8nServer();
  queue = `webhooks-${randomBytes(6).toString("hex")}`;
  env = {
    ...exampleEnvironment(n8n.url),
    HOME_N8N_URL: n8n.url,
    AZURE_STORAGE_CONNECTION_STRING: await useAzurite(context),
    MESSAGE_KEY: randomBytes(16).toString("hex"),
    QUEUE: queue,
  };
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.kill("SIGKILL");
  await n8n.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function copyAs(name: string, change: (yaml: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-pair-"));
  folders.push(folder);
  cpSync(EXAMPLE_FOLDER, folder, { recursive: true });
  writeFileSync(join(folder, "posthorn.yaml"), change(readFileSync(join(folder, name), "utf8")));
  return folder;
}

async function start(folder: string): Promise<string> {
  const gateway = startGatewayProcess({ folder, env });
  gateways.push(gateway);
  return gateway.ready;
}

async function countQueued(): Promise<number> {
  const service = QueueServiceClient.fromConnectionString(env["AZURE_STORAGE_CONNECTION_STRING"] ?? "");
  return (await service.getQueueClient(queue).getProperties()).approximateMessagesCount ?? 0;
}

const arrived = () => n8n.executions.map(({ body }) => (body as { id: string }).id).toSorted();

describe("the gateways of the example on a VPS and at home", () => {
  // shows: B9
  it("keep webhooks in the queue while n8n is away, and bring each to it unchanged", async () => {
    const vps = copyAs("vps.yaml", (yaml) => yaml);
    const declared = await runCommand(process.execPath, [LAUNCHER, "queue", "declare"], vps, env);
    expect(declared).toMatchObject({ exitCode: 0 });
    const [vpsUrl, homeUrl] = await Promise.all([
      start(vps),
      start(copyAs("home.yaml", (yaml) => hasten(yaml, "HOME_N8N_URL"))),
    ]);
    await until(async () => (await readStatus(homeUrl)).mode === "QUEUE", undefined, "the mode QUEUE at home");

    const sent: Sent[] = [];
    for (let number = 0; number < 12; number++) {
      const one = createOrder(`customer-${number % 3}`, number);
      sent.push(one);
      await send(() => vpsUrl, "orders", one);
    }
    expect(sent.flatMap(({ answers }) => answers.map(({ status }) => status))).toEqual(sent.map(() => 202));
    await until(async () => (await countQueued()) === sent.length, undefined, "all of them in the queue");
    expect(n8n.executions).toEqual([]);

    await n8n.enter("ready");
    await until(() => n8n.executions.length >= sent.length, undefined, "all of them at n8n");
    await until(async () => (await countQueued()) === 0, undefined, "an empty queue");
    expect(arrived()).toEqual(sent.map(({ id }) => id).toSorted());
    const bodies = new Map(sent.map(({ id, body }) => [id, body]));
    for (const { path, raw, body } of n8n.executions) {
      expect({ path, raw: raw.toString() }).toEqual({ path: "orders", raw: bodies.get((body as { id: string }).id) });
    }
  });
});
