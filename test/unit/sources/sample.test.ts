import { describe, expect, it } from "vitest";
import { fillSample, SAMPLES } from "../../../src/sources/sample.ts";

const AT = Date.UTC(2026, 5, 15, 12, 0, 0, 123);
const ID = "9b2e1c34-5d6f-4a7b-8c9d-0e1f2a3b4c5d";

describe("a sample", () => {
  it("has the facts of its request, numbers as numbers, and everything else as it is written", () => {
    const event = {
      headers: { "x-id": "{id}", "x-at": "{time_s}" },
      body: { id: "evt_{id_24}", n: "{unix_s}", of: [{ ms: "{unix_ms}", s: "{unix_fraction}" }], is: "{other} {time}" },
    };
    const { headers, body } = fillSample(event, AT, ID);
    expect(headers).toEqual({ "content-type": "application/json", "x-id": ID, "x-at": "2026-06-15T12:00:00Z" });
    expect(body.toString()).toBe(
      '{"id":"evt_9b2e1c345d6f4a7b8c9d0e1f","n":1781524800,"of":[{"ms":1781524800123,"s":1781524800.123}],' +
        '"is":"{other} 2026-06-15T12:00:00.123Z"}',
    );
  });

  it("of a form is one, with the fields in their order", () => {
    const { headers, body } = fillSample({ form: { Body: "a b&c", To: "+1" } }, AT, ID);
    expect([headers["content-type"], body.toString()]).toEqual([
      "application/x-www-form-urlencoded",
      "Body=a+b%26c&To=%2B1",
    ]);
  });

  it("leaves no place for a fact unfilled, whichever provider's it is", () => {
    for (const { events } of SAMPLES) {
      for (const event of Object.values(events)) {
        const { headers, body } = fillSample(event, AT, ID);
        expect(JSON.stringify(headers) + body.toString()).not.toMatch(/\{\w+\}/);
      }
    }
  });
});
