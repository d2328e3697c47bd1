import { describe, expect, it } from "vitest";
import { checkKindSettings, createDestinationKinds } from "../../../../src/destinations/kinds.ts";
import { findRoutingKeyProblem, writeRoutingKey } from "../../../../src/destinations/queue/amqp.ts";
import type { EventContent } from "../../../../src/model/event.ts";

const kinds = createDestinationKinds();
const problems = (kind: string, destination: Record<string, unknown>) =>
  checkKindSettings({ name: "a", kind, events: ["#"], destination }, kinds).map(({ field, message }) => [
    field,
    message,
  ]);

describe("settings of destinations at brokers", () => {
  it.each<[kind: string, destination: Record<string, unknown>, field: string, message: RegExp]>([
    ["amqp", {}, "destination.exchange", /exchange or a queue/],
    ["amqp", { exchange: "a", queue: "b" }, "destination.exchange", /not both/],
    ["amqp", { queue: "a", routing_key: "b" }, "destination.routing_key", /leave it out for a queue/],
    ["amqp", { exchange: "a", routing_key: "{type}" }, "destination.routing_key", /\{type\}.*\{event_type\}/],
    ["amqp", { exchange: "a", message_key: "x".repeat(16) }, "destination.message_key", /format message.*raw/],
    ["amqp", { exchange: "a", format: "xml" }, "destination.format", /./],
    ["azure-service-bus", {}, "destination.queue", /is missing/],
    ["azure-service-bus", { queue: "a", claim_check: { container: "abc" } }, "destination.claim_check", /message/],
    ["azure-storage-queue", { queue: "Upper" }, "destination.queue", /./],
    [
      "azure-storage-queue",
      { queue: "abc", format: "message", forward_headers: ["*", "host"] },
      "destination.forward_headers[1]",
      /connection/,
    ],
    ["azure-storage-queue", { queue: "abc", exchange: "a" }, "destination.exchange", /amqp/],
  ])("of the kind %s are rejected: %j", (kind, destination, field, message) => {
    const [found] = problems(kind, destination);
    expect(found?.[0]).toBe(field);
    expect(found?.[1]).toMatch(message);
  });

  it.each<[kind: string, destination: Record<string, unknown>]>([
    ["amqp", { exchange: "a", routing_key: "x.{event_type}", connection: "bus" }],
    ["amqp", { queue: "a", format: "event" }],
    ["azure-service-bus", { queue: "event-main", format: "message", claim_check: { container: "large" } }],
    [
      "azure-storage-queue",
      { queue: "abc", format: "message", forward_headers: ["*", "authorization"], message_key: "k".repeat(16) },
    ],
  ])("of the kind %s are taken: %j", (kind, destination) => {
    expect(problems(kind, destination)).toEqual([]);
  });
});

describe("a routing key", () => {
  const event = { type: "order.created", tenantId: "acme", source: "shop", priority: "high" } as EventContent;

  it("is made of what the event says", () => {
    expect(writeRoutingKey("{event_type}", event)).toBe("order.created");
    expect(writeRoutingKey("a.{tenant_id}.{source}.{priority}", event)).toBe("a.acme.shop.high");
    expect(writeRoutingKey("webhook.failed", event)).toBe("webhook.failed");
  });

  it("has 255 bytes at most, and stands for nothing unknown", () => {
    expect(writeRoutingKey("x".repeat(255), event)).toBeDefined();
    expect(writeRoutingKey("x".repeat(256), event)).toBeUndefined();
    expect(findRoutingKeyProblem("{event_type}")).toBeUndefined();
    expect(findRoutingKeyProblem("{nonsense}")).toContain("{nonsense}");
  });
});
