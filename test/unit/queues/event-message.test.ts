import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { writeBusEvent, type BusEvent } from "../../../src/queues/event-message.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import { parsePublishBody, type PublishItem } from "../../../src/intake/publish/publish-body.ts";

/** As the seed's own Python writes them. */
const LINES = readFileSync(new URL("../../support/dairy-events.ndjson", import.meta.url), "utf8")
  .trim()
  .split("\n");

function read(line: string): PublishItem {
  const [item] = parsePublishBody(Buffer.from(line)).items;
  if (item === undefined || item instanceof PosthornError) throw item ?? new Error("nothing");
  return item;
}

function toBusEvent(item: PublishItem, publishedAt: number): BusEvent {
  return {
    event: {
      id: item.eventId ?? "",
      type: item.eventType,
      version: item.eventVersion,
      source: item.source,
      tenantId: item.tenantId ?? "default",
      priority: item.priority,
      orderingKey: undefined,
      occurredAt: item.timestamp ?? 0,
      receivedAt: 0,
      contentType: "application/json",
      body: item.payload,
      origin: "publish",
    },
    sourceId: item.sourceId,
    userId: item.userId,
    sessionId: item.sessionId,
    metadata: item.metadata,
    publishedAt,
  };
}

describe("an event on the bus", () => {
  it("is written as the bus's own program writes it, but for what a millisecond cannot say", () => {
    for (const line of LINES) {
      const written = writeBusEvent(toBusEvent(read(line), Date.UTC(2026, 1, 18, 9, 30, 1)))?.toString();
      const expected = line
        .replace(/("timestamp": "[^"]*\.\d{3})\d{3}"/, '$1000"')
        .replace(/"published_at": (null|"[^"]*")/, '"published_at": "2026-02-18 09:30:01"');
      expect(written).toBe(expected);
    }
    expect(LINES.length).toBeGreaterThan(2);
  });

  it("is read again as it was written, its payload byte for byte", () => {
    for (const line of LINES) {
      const item = read(line);
      const again = read(writeBusEvent(toBusEvent(item, 0))?.toString() ?? "");
      expect(again.payload.equals(item.payload)).toBe(true);
      expect({ ...again, payload: null }).toEqual({ ...item, payload: null });
    }
  });

  it("has no place for a body that is no JSON object", () => {
    const [line = ""] = LINES;
    const busEvent = toBusEvent(read(line), 0);
    for (const body of ["[1]", "text", "", "<xml/>"]) {
      expect(writeBusEvent({ ...busEvent, event: { ...busEvent.event, body: Buffer.from(body) } })).toBeUndefined();
    }
  });

  it("keeps ids that are no numbers as text", () => {
    const [line = ""] = LINES;
    const busEvent = toBusEvent(read(line), 0);
    const written = writeBusEvent({ ...busEvent, userId: "007", event: { ...busEvent.event, tenantId: "acme" } });
    expect(JSON.parse(written?.toString() ?? "")).toMatchObject({ tenant_id: "acme", user_id: "007" });
  });
});
