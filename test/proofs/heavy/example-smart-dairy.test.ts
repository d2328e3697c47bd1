import { connect } from "amqplib";
import { describe, expect, it } from "vitest";
import { smartDairy } from "../../../examples/smart-dairy/walk-through.ts";
import { runExample, type Settings } from "../../../examples/support/example.ts";
import { captureOutput } from "../../support/captured-output.ts";
import { useRabbitMq } from "../../support/services/shared.ts";

const RATE = 5;
const run = (settings: Settings) =>
  runExample(smartDairy, { rate: RATE, ...settings }, { output: captureOutput().output });

/** The virtual host serves others after this. */
async function cleanUp(url: string): Promise<void> {
  const model = await connect(url);
  const channel = await model.createChannel();
  for (const queue of ["webhook.delivery", "webhook.failed", "notification.email", "notification.sms"]) {
    await channel.deleteQueue(queue);
  }
  await model.close();
}

describe("the example smart-dairy", () => {
  // shows: C6, C33, C47
  it("brings every event to all who want it, and suspends the partner that is broken", async (context) => {
    const amqp = await useRabbitMq(context);
    const { figures, failures, exitCode } = await run({ flags: { amqp } });
    await cleanUp(amqp);
    expect(failures).toEqual([]);
    expect(figures).toMatchObject({
      events: { erp: 28, mobile: 12, iot: 39 },
      partners: {
        Inventory: { delivered: 12, deadLetters: 0, status: "active" },
        Accounting: { delivered: 16, deadLetters: 0, status: "active" },
        Shipping: { delivered: 0, deadLetters: 11, status: "suspended" },
      },
      emails: 13,
      sms: 6,
      rows: 79,
      hasBus: true,
    });
    expect(exitCode).toBe(0);
  });

  it("fails when a partner's secret is another one: the control", async () => {
    const changeConfig = (yaml: string) => yaml.replace("${DAIRY_INVENTORY_SECRET}", "another secret, long enough");
    const { figures, failures, exitCode } = await run({ changeConfig, flags: { "no-bus": true } });
    expect(failures).toEqual(
      expect.arrayContaining(["Inventory verified every signature with its own secret", "Inventory has all 12 events"]),
    );
    expect(failures.join()).not.toContain("Accounting");
    expect(figures?.partners["Inventory"]).toMatchObject({ delivered: 0, status: "suspended" });
    expect(exitCode).toBe(1);
  });
});
