import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PARK_DESCRIPTION, PARK_REASON } from "../../../src/queues/broker.ts";
import {
  decodeText,
  encodeText,
  MAX_BODY_BYTES,
  readParked,
  writeParked,
} from "../../../src/queues/azure-storage-queue/storage-text.ts";

describe("the text of a message of Azure Storage Queue", () => {
  it("brings back every byte of a body", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (body) => {
        expect(decodeText(encodeText(body))).toEqual(Buffer.from(body));
      }),
    );
  });

  it("is taken as it is when nobody has encoded it", () => {
    expect(decodeText('{"a": 1}').toString()).toBe('{"a": 1}');
    expect(decodeText("grüße").toString()).toBe("grüße");
  });

  it("says why it was parked, and what it was", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: "binary" }), fc.string(), (text, description, reason) => {
        const { text: found, properties } = readParked(writeParked(text, reason, description));
        expect(found).toBe(text);
        expect(Object.keys(properties)).toEqual([PARK_REASON, PARK_DESCRIPTION]);
      }),
    );
  });

  it("has room for the reason beside the largest body of ours, and leaves it out beside a larger one", () => {
    const long = "}".repeat(1000);
    const largest = encodeText(Buffer.alloc(MAX_BODY_BYTES));
    expect(writeParked(largest, "r", long).length).toBeLessThanOrEqual(65_536);
    expect(readParked(writeParked(largest, "r", long)).properties).toMatchObject({ [PARK_REASON]: "r" });
    const foreign = "x".repeat(65_536);
    expect(writeParked(foreign, "r", long)).toBe(foreign);
  });
});
