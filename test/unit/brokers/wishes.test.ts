import { describe, expect, it } from "vitest";
import { listWishes } from "../../../src/brokers/provision/wishes.ts";
import type { ConnectionInput } from "../../../src/domain/connection.ts";

const RABBIT: ConnectionInput = { name: "default", kind: "amqp", url: "amqp://localhost" };

describe("what a configuration wants of its brokers", () => {
  it("is the topology of every RabbitMQ, quorum queues under posthorn by default", () => {
    const topology = {
      namespace: "posthorn",
      queueType: "quorum",
      notifications: [],
      queues: [],
      foreignExchanges: [],
    };
    expect(listWishes([RABBIT], [])).toEqual([{ kind: "amqp", connection: "default", topology }]);
  });

  it("has the queues that something takes from, and names foreign exchanges", () => {
    const input: ConnectionInput = { ...RABBIT, topology: { namespace: "dairy", queue_type: "classic" } };
    const [wish] = listWishes(
      [input],
      [
        { kind: "amqp", settings: { queue: "notification.email" } },
        { kind: "amqp", settings: { queue: "erp.orders" } },
        { kind: "amqp", settings: { exchange: "dairy.events" } },
        { kind: "amqp", settings: { exchange: "erp.events" } },
        { kind: "amqp", settings: { queue: "elsewhere", connection: "other" } },
        { kind: "http", settings: { queue: "no broker" } },
      ],
    );
    expect(wish).toMatchObject({
      topology: {
        namespace: "dairy",
        queueType: "classic",
        notifications: ["email"],
        queues: ["erp.orders"],
        foreignExchanges: ["erp.events"],
      },
    });
  });

  it("names each queue of Azure once, with sessions where order or the source asks for them", () => {
    const wishes = listWishes(
      [],
      [
        { kind: "azure-service-bus", settings: { queue: "event-main" }, isOrdered: true },
        { kind: "azure-service-bus", settings: { queue: "event-main/$DeadLetterQueue" } },
        { kind: "azure-service-bus", settings: { queue: "plain" } },
        { kind: "azure-storage-queue", settings: { queue: "webhooks", connection: "cloud" } },
        { kind: "azure-storage-queue", settings: { queue: "webhooks", connection: "cloud" } },
      ],
    );
    expect(wishes).toEqual([
      { kind: "azure-service-bus", connection: "default", queue: "event-main", sessions: true },
      { kind: "azure-service-bus", connection: "default", queue: "plain", sessions: false },
      { kind: "azure-storage-queue", connection: "cloud", queue: "webhooks" },
    ]);
  });
});
