import { startServiceBus, type ServiceBusServer } from "../../test/support/service-bus/server.ts";
import type { Ending, Story } from "../support/example.ts";
import { readEventLog, type SmartsheetFigures } from "./figures.ts";
import { endWith, register, setUp, type SetUp } from "./set-up.ts";
import { rowsOf } from "./world/core-app.ts";
import { SHEETS, type Sheet } from "./world/workspace.ts";

const QUEUE = "event-main";
const ROWS = ["101", "102", "103"];
const ROWS_MEANWHILE = ["1001", "1002", "1003", "1004"];
const BOTH: readonly Sheet[] = ["Purchase orders", "Tags"];

/** Health is asked for several times a second instead of once a minute. */
const hasten = (yaml: string) =>
  yaml.replace("  - name: core\n    # Must", "  - name: core\n    health_interval_s: 0.2\n    # Must");

/** `service-bus.yaml`: each change goes to a queue first, and from there to the core app. */
export async function tellOfServiceBus(story: Story): Promise<Ending<SmartsheetFigures>> {
  const { step, check, until, passed, world } = story;
  step(
    "Start Smartsheet, Service Bus, the core app and the gateway",
    "The gateway is examples/smartsheet-adapter/service-bus.yaml. Service Bus is a test server that Azure's own SDK talks to.",
  );
  const bus = await world.own("Service Bus test server", startServiceBus(), (opened) => opened.stop());
  const env = { AZURE_SERVICEBUS_CONNECTION_STRING: bus.connectionString };
  const place = await setUp(story, "service-bus.yaml", hasten, env);
  const { workspace, core, gateway } = place;
  await gateway.posthorn(["queue", "declare"]);
  await gateway.start();
  passed(`gateway at ${gateway.url}, core app at ${core.url}`);

  step("Register a webhook for each sheet of the manifest");
  await register(story, place);

  step("People change rows", "Each change is a message; each sheet is a session, which keeps its order.");
  await workspace.changeEach(BOTH, ROWS);
  await until("the changes at the core app", () => core.taken().length >= ROWS.length * BOTH.length);
  checkOrder(story, place, ROWS);

  step("The core app is down", "It answers 503. Changes stay in the queue.");
  core.isDown = true;
  await until("the mode QUEUE", async () => (await gateway.api.get("/status")).json["mode"] === "QUEUE");
  await workspace.changeEach(["Purchase orders"], ROWS_MEANWHILE);
  await until("the changes in the queue", () => countWaiting(bus) === ROWS_MEANWHILE.length);
  passed(`the queue ${QUEUE} holds ${ROWS_MEANWHILE.length} messages, the core app has seen none of them`);

  step("The core app comes back");
  core.isDown = false;
  const total = ROWS.length * BOTH.length + ROWS_MEANWHILE.length;
  await until("the changes at the core app", () => core.taken().length >= total);
  await until("an empty queue", () => countWaiting(bus) === 0);
  const isCompleted = () => readEventLog(gateway.database).every(({ status }) => status === "COMPLETED");
  await until("their end in the event log", isCompleted);
  const rows = rowsOf(core, SHEETS["Purchase orders"]).slice(ROWS.length);
  check(
    `it has all ${ROWS_MEANWHILE.length}, in their order: ${rows.join(", ")}`,
    rows.join() === ROWS_MEANWHILE.join(),
  );
  check("and none twice", new Set(core.taken().map((change) => change.event_id)).size === core.taken().length);
  passed("the queue is empty, and every change is COMPLETED in the event log");
  return endWith(place);
}

const countWaiting = (bus: ServiceBusServer) => bus.queue(QUEUE).counts().active;

function checkOrder({ check }: Story, { core }: SetUp, wanted: readonly string[]): void {
  for (const sheet of BOTH) {
    check(`the core app has those of ${sheet} in their order`, rowsOf(core, SHEETS[sheet]).join() === wanted.join());
  }
}
