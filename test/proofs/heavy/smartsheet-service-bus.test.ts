import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openReadConnection } from "../../../src/store/sqlite/connection.ts";
import { createApiClient, until, type ApiClient } from "../../support/api-client.ts";
import { findFreePort } from "../../support/free-port.ts";
import { openCliFolder, type CliFolder, type RunningGateway } from "../../support/run-cli.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";
import { startSmartsheetServer, type SheetEvent, type SmartsheetServer } from "../../support/smartsheet-server.ts";

const EXAMPLE = join(PROJECT_ROOT, "examples/smartsheet-adapter");
const CONFIG = ["--config", "service-bus.yaml"];
const SHEETS = ["4509506114742148", "6141831453927300"] as const;
const ADMIN_KEY = "test-admin-key-0123456789";

let folder: CliFolder;
let gateway: RunningGateway;
let smartsheet: SmartsheetServer;
let core: SinkServer;
let bus: ServiceBusServer;
let api: ApiClient;
let isWell = true;

beforeAll(async () => {
  [folder, smartsheet, core, bus] = await Promise.all([
    openCliFolder(),
    startSmartsheetServer({ allowHttpCallbacks: true, retryNonce: "fresh", timeFactor: 500 }),
    openSinkServer(),
    startServiceBus(),
  ]);
  core.answerWith(({ path }) => {
    if (path !== "/api/health") return { status: 200 };
    return isWell ? { status: 200, body: '{"status":"ok"}' } : { status: 503 };
  });
  await cp(EXAMPLE, folder.path, { recursive: true });
  // Asked more often than once a minute.
  const file = join(folder.path, "service-bus.yaml");
  const yaml = await readFile(file, "utf8");
  await writeFile(
    file,
    yaml.replace("  - name: core\n    # Must", "  - name: core\n    health_interval_s: 0.2\n    # Must"),
  );
  const port = await findFreePort();
  Object.assign(folder.env, {
    AZURE_SERVICEBUS_CONNECTION_STRING: bus.connectionString,
    CORE_FUNCTIONS_BASE_URL: `http://127.0.0.1:${core.port}`,
    SMARTSHEET_ACCESS_TOKEN: smartsheet.token,
    SMARTSHEET_API_HOST: smartsheet.apiHost,
    POSTHORN_PUBLIC_URL: `http://127.0.0.1:${port}`,
    POSTHORN_ADMIN_KEY: ADMIN_KEY,
    POSTHORN_API_KEY: ADMIN_KEY,
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
  });
  await folder.run(["queue", "declare", ...CONFIG]);
  gateway = await folder.startGateway(["--port", String(port), ...CONFIG]);
  folder.env["POSTHORN_URL"] = gateway.url;
  api = createApiClient({ url: () => gateway.url }, ADMIN_KEY);
  await folder.run(["smartsheet", "register"]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([smartsheet.close(), core.close(), bus.stop()]);
  await folder.remove();
});

let seconds = 0;
const rowEvent = (id: string): SheetEvent => ({
  objectType: "row",
  eventType: "updated",
  id,
  timestamp: new Date(Date.UTC(2026, 10, 16, 9, 0, seconds++)).toISOString().replace(".000Z", ".000+0000"),
});

const changes = () => core.requests.filter(({ path }) => path !== "/api/health");
const rowsOf = (sheet: string) =>
  changes()
    .map(({ body }) => JSON.parse(body.toString("utf8")) as { sheet_id: string; row_id: string })
    .filter((event) => event.sheet_id === sheet)
    .map((event) => event.row_id);

/** What an operator reads in the database. */
function readEventLog(): { event_id: string; source: string; status: string; completed_at: string | null }[] {
  const db = openReadConnection(join(folder.path, "data/posthorn.db"));
  try {
    return db.prepare("select event_id, source, status, completed_at from event_log").all() as never;
  } finally {
    db.close();
  }
}

describe("the Smartsheet adapter with Service Bus", () => {
  it("has the queue that it wants, and names it where it is missing", async () => {
    expect(await folder.run(["queue", "check", ...CONFIG])).toMatchObject({ exitCode: 0 });
    const elsewhere = await startServiceBus();
    const env = { AZURE_SERVICEBUS_CONNECTION_STRING: elsewhere.connectionString };
    expect(await folder.run(["queue", "check", ...CONFIG], env)).toMatchObject({
      exitCode: 1,
      stdout: "fail  azure-service-bus default: queue event-main is missing\n",
    });
    await elsewhere.stop();
  });

  // shows: Q57
  it("takes every change through the queue, each sheet's in their order, and none twice", async () => {
    expect(bus.queue("event-main").settings).toMatchObject({ requiresSession: true, maxDeliveryCount: 10 });
    const rows = Array.from({ length: 10 }, (_, at) => String(1000 + at));
    for (const row of rows) for (const sheet of SHEETS) smartsheet.change(sheet, [rowEvent(row)]);
    await until(() => changes().length === rows.length * SHEETS.length, undefined, "all changes");
    for (const sheet of SHEETS) expect(rowsOf(sheet)).toEqual(rows);
    const ids = changes().map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(ids.length);
    await until(() => bus.queue("event-main").counts().active === 0, undefined, "an empty queue");
    // One line for each change, with the status at the core app.
    await until(() => readEventLog().every(({ status }) => status === "COMPLETED"), undefined, "all completed");
    const log = readEventLog();
    expect(log.map(({ event_id }) => event_id).toSorted()).toEqual(ids.map(String).toSorted());
    expect(new Set(log.map(({ source }) => source))).toEqual(new Set(["smartsheet"]));
  });

  it("leaves changes in the queue while the core app is away", async () => {
    isWell = false;
    await until(async () => (await api.get("/status")).json["mode"] === "QUEUE", undefined, "the mode QUEUE");
    const before = changes().length;
    smartsheet.change(SHEETS[0], [rowEvent("2000")]);
    await until(() => bus.queue("event-main").counts().active === 1, undefined, "a change in the queue");
    expect(changes()).toHaveLength(before);
    // The first hop has ended: the queue has it.
    await until(async () => (await api.deliveries("status=delivered")).length === 2 * before + 1);
    const waiting = readEventLog().filter(({ status }) => status !== "COMPLETED");
    expect(waiting).toMatchObject([{ source: "smartsheet", status: "PENDING", completed_at: null }]);
    isWell = true;
    await until(() => rowsOf(SHEETS[0]).at(-1) === "2000", undefined, "the change");
    const statusOf = (id: string | undefined) => readEventLog().find(({ event_id }) => event_id === id)?.status;
    await until(() => statusOf(waiting[0]?.event_id) === "COMPLETED", undefined, "its end in the log");
  });
});
