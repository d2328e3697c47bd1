import { AccountSASPermissions, QueueServiceClient } from "@azure/storage-queue";
import { describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { BROKER_KINDS } from "../support/brokers/shared-queues.ts";
import { DOWN, modeOf, OK, openFallbackWorld, reaches } from "../support/fallback-world.ts";
import { useAzurite } from "../support/services/shared.ts";

describe.each(BROKER_KINDS)("what a fallback of the kind %s cannot take, because its queue is missing,", (kind) => {
  const destination = { queue: "a-queue-that-is-missing" };

  it("waits for the target, and is delivered in its order when that is back", async (context) => {
    const { gateway, far, posts } = await openFallbackWorld(context, kind, {
      forward: { ordered: true },
      fallback: { ordered: true },
      destination,
    });
    far.health = far.answer = DOWN;
    await reaches(gateway, "n8n", "QUEUE");
    const before = posts().length;
    const bodies = [1, 2, 3, 4, 5, 6].map((n) => `{"n":${n}}`);
    for (const body of bodies) {
      expect((await gateway.webhook("keyed", body, { "x-key": "a" })).json["status"]).toBe("queued");
    }
    await reaches(gateway, "home-queue", "QUEUE");
    far.health = far.answer = OK;
    await until(() => posts().length === before + bodies.length, undefined, "all of them at the target");
    expect(posts().slice(before)).toEqual(bodies);
    await reaches(gateway, "n8n", "NORMAL");
    await gateway.settled();
    expect(await gateway.deliveries("status=dead")).toEqual([]);
  });

  it("is forwarded again at once while the target is in NORMAL", async (context) => {
    const { gateway, target, far, posts } = await openFallbackWorld(context, kind, { destination });
    target.answerWith(({ method }) =>
      method === "GET" ? far.health : posts().length > 1 ? far.answer : { status: 500 },
    );
    expect((await gateway.webhook("orders", '{"n":1}')).json["status"]).toBe("queued");
    await until(() => posts().length === 2, undefined, "the second try at the target");
    await gateway.settled();
    expect(await modeOf(gateway, "n8n")).toBe("NORMAL");
    const shown = await gateway.deliveries("");
    expect(shown.map(({ status }) => status).toSorted()).toEqual(["cancelled", "delivered"]);
  });
});

it("a fallback that may not be written to keeps nothing from its target", async (context) => {
  const text = await useAzurite(context);
  const service = QueueServiceClient.fromConnectionString(text);
  const sas = service.generateAccountSasUrl(new Date(Date.now() + 3_600_000), AccountSASPermissions.parse("r"), "sco");
  const [endpoint, signature] = sas.split("?");
  const { gateway, far, posts } = await openFallbackWorld(context, "azure-storage-queue", {
    connections: [
      {
        name: "reader",
        kind: "azure-storage-queue",
        connection_string: `QueueEndpoint=${endpoint};SharedAccessSignature=${signature}`,
      },
    ],
    forward: { ordered: true },
    fallback: { ordered: true },
    destination: { connection: "reader" },
  });
  far.health = far.answer = DOWN;
  await reaches(gateway, "n8n", "QUEUE");
  const before = posts().length;
  for (const n of [1, 2, 3, 4]) await gateway.webhook("keyed", `{"n":${n}}`, { "x-key": "a" });
  await reaches(gateway, "home-queue", "QUEUE");
  far.health = far.answer = OK;
  await until(() => posts().length === before + 4, undefined, "all of them at the target");
  expect(posts().slice(before)).toEqual([1, 2, 3, 4].map((n) => `{"n":${n}}`));
  await reaches(gateway, "n8n", "NORMAL");
});
