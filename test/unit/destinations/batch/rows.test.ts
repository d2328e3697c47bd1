import { describe, expect, it } from "vitest";
import { batchId, writeRow } from "../../../../src/destinations/batch/rows.ts";
import type { Attempt } from "../../../../src/destinations/sender.ts";
import type { Subscription } from "../../../../src/model/subscription.ts";

function attemptOf(body: string | Buffer, event: Partial<Attempt["event"]> = {}, more: Partial<Attempt> = {}): Attempt {
  return {
    deliveryId: "dlv_1",
    number: 1,
    generation: 1,
    subscription: {} as Subscription,
    event: {
      id: "evt_1",
      type: "order.created",
      version: "1.0",
      source: "api",
      tenantId: "acme",
      priority: "high",
      orderingKey: "o-1",
      occurredAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
      receivedAt: Date.UTC(2026, 0, 2, 3, 4, 6),
      contentType: "application/json",
      body: Buffer.from(body),
      origin: "publish",
      ...event,
    },
    ...more,
  };
}

const rowOf = (attempt: Attempt, rows: "event" | "payload" = "event") => writeRow(attempt, rows).toString("utf8");

describe("a row", () => {
  it("is the event by the names of the API, on a line of its own", () => {
    const details = '{"source_id":"7","user_id":"u","session_id":"s","metadata":{"big":12345678901234567890}}';
    const row = rowOf(attemptOf('{"total":1}', {}, { details }));
    expect(row.endsWith("}\n")).toBe(true);
    expect(JSON.parse(row)).toEqual({
      event_id: "evt_1",
      event_type: "order.created",
      event_version: "1.0",
      source: "api",
      source_id: "7",
      tenant_id: "acme",
      user_id: "u",
      session_id: "s",
      priority: "high",
      ordering_key: "o-1",
      timestamp: "2026-01-02T03:04:05.006Z",
      received_at: "2026-01-02T03:04:06.000Z",
      content_type: "application/json",
      metadata: expect.anything(),
      data: { total: 1 },
    });
    expect(row).toContain('"metadata":{"big":12345678901234567890}');
  });

  it("holds the data as the bytes that came, also numbers beyond 2^53", () => {
    const body = '{"id":9007199254740993,"price":1.10,"a":"\\u00e9"}';
    expect(rowOf(attemptOf(body))).toContain(`"data":${body}}`);
    expect(rowOf(attemptOf(body), "payload")).toBe(`${body}\n`);
  });

  it("is one line however its JSON was laid out", () => {
    const row = rowOf(attemptOf('{\r\n  "a": "x\\ny",\n  "b": [1,\n2]\n}'));
    expect(row.indexOf("\n")).toBe(row.length - 1);
    expect(JSON.parse(row)).toMatchObject({ data: { a: "x\ny", b: [1, 2] } });
  });

  it.each([
    ["text", "hello\nworld", "text/plain", { data: "hello\nworld" }, '"hello\\nworld"\n'],
    ["bytes that are no text", Buffer.from([0, 255]), "image/png", { data_base64: "AP8=" }, '{"data_base64":"AP8="}\n'],
    ["nothing", "", "application/json", { data: null }, "null\n"],
  ])("holds %s too", (_, body, contentType, event, payload) => {
    const attempt = attemptOf(body, { contentType, origin: "webhook" });
    expect(JSON.parse(rowOf(attempt))).toMatchObject(event);
    expect(rowOf(attempt, "payload")).toBe(payload);
  });

  it("is the same at each try, and so is the id of its batch; a replay has another", () => {
    const [first, second] = [attemptOf("{}"), attemptOf("{}", {}, { number: 2 })];
    expect(rowOf(second)).toBe(rowOf(first));
    const idOf = (attempts: readonly Attempt[]) =>
      batchId(
        attempts.map((attempt) => writeRow(attempt, "event")),
        attempts,
      );
    expect(idOf([second])).toBe(idOf([first]));
    const other = attemptOf("{}", { id: "evt_2" });
    const ids = [[first], [other], [first, other], [other, first], [{ ...first, generation: 2 }]].map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
