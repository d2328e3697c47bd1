import { describe, expect, it } from "vitest";
import { partsOf } from "../../../src/queues/amqp/topology.ts";
import { listNeeded } from "../../../src/queues/provision.ts";
import type { ConnectionInput } from "../../../src/model/connection.ts";

const RABBIT: ConnectionInput = { name: "default", kind: "amqp", url: "amqp://localhost" };

describe("what a configuration wants of its brokers", () => {
  // shows: C9
  it("is the topology of every RabbitMQ, quorum queues under posthorn by default", () => {
    const topology = {
      namespace: "posthorn",
      queueType: "quorum",
      notifications: [],
      queues: [],
      foreignExchanges: [],
    };
    expect(listNeeded([RABBIT], [])).toEqual([{ kind: "amqp", connection: "default", topology }]);
  });

  // shows: C15, Q61
  it("has the queues that something takes from, and names foreign exchanges", () => {
    const input: ConnectionInput = { ...RABBIT, topology: { namespace: "dairy", queue_type: "classic" } };
    const [wish] = listNeeded(
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

  // shows: C15
  it("has the queues of notifications that the configuration names for others", () => {
    const input: ConnectionInput = { ...RABBIT, topology: { notifications: ["sms"] } };
    const uses = [{ kind: "amqp", settings: { queue: "notification.email" } }];
    expect(listNeeded([input], [])).toMatchObject([{ topology: { notifications: ["sms"] } }]);
    expect(listNeeded([input], uses)).toMatchObject([{ topology: { notifications: ["email", "sms"] } }]);
  });

  it("holds messages for as long as the source that holds them longest, if one does", () => {
    const longestOf = (...sources: object[]) => {
      const uses = sources.map((more) => ({ kind: "amqp", settings: { queue: "orders", ...more } }));
      return listNeeded([RABBIT], uses).map((wish) => (wish.kind === "amqp" ? wish.longestHoldS : undefined));
    };
    expect(longestOf({}, { hold_max_s: 1200 })).toEqual([undefined]);
    expect(longestOf({ acknowledge: "delivered" })).toEqual([900]);
    expect(longestOf({ acknowledge: "delivered" }, { acknowledge: "delivered", hold_max_s: 1200 })).toEqual([1200]);
  });

  it("names each queue of Azure once, with sessions where order or the source asks for them", () => {
    const wishes = listNeeded(
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

describe("a quorum queue of RabbitMQ", () => {
  const limitOf = (version: string, queueType: "quorum" | "classic" = "quorum") =>
    partsOf({ namespace: "dairy", queueType, notifications: ["sms"], queues: ["erp"] }, version)
      .filter(({ thing }) => thing === "queue")
      .map(({ settings }) => settings["x-delivery-limit"]);

  // shows: Q21
  it("has no delivery limit where the broker would set one by itself, and none is asked for before", () => {
    const none = [undefined, undefined, undefined, undefined];
    expect(limitOf("4.0.0")).toEqual([-1, -1, -1, -1]);
    expect(limitOf("4.3.1")).toEqual([-1, -1, -1, -1]);
    expect(limitOf("3.13.7")).toEqual(none);
    expect(limitOf("4.0.0", "classic")).toEqual(none);
  });
});
