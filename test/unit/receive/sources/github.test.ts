import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { github } from "../../../../src/receive/sources/github.ts";
import type { Reading } from "../../../../src/receive/sources/source-kind.ts";
import { arrive, settingsOf } from "../../../contract/source-fixture.ts";

const SECRET = "a-secret-of-the-repository";
const settings = settingsOf("code", [SECRET]);

function post(body: Buffer | string, event = "pull_request") {
  const bytes = Buffer.from(body);
  const signature = createHmac("sha256", SECRET).update(bytes).digest("hex");
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-github-event": event,
    "x-github-delivery": "d-1",
    "x-hub-signature-256": `sha256=${signature}`,
  };
  return arrive("code", { at: 0, body: bytes, headers });
}

function read(body: Buffer | string, event?: string) {
  const request = post(body, event);
  github.verify?.(request, settings);
  return (github.events?.(request, settings, { kind: "other", texts: [] }) as Reading).events[0];
}

const formOf = (payload: unknown, more = {}) =>
  new URLSearchParams({ payload: JSON.stringify(payload), ...more }).toString();

describe("a form of GitHub", () => {
  it("has the type that the same webhook has as JSON, is verified as it came and stays as it is", () => {
    const event = read(formOf({ action: "opened", number: 1, title: "ä & + = %" }));
    expect(event).toMatchObject({ type: "github.pull_request.opened", identity: "d-1" });
    expect(event?.body).toBeUndefined();
    expect(read(formOf({ ref: "refs/heads/main", head: { action: "no" } }), "push")?.type).toBe("github.push");
    expect(read(`other=1&${formOf({ action: "closed" })}&more=2`)?.type).toBe("github.pull_request.closed");
    expect(read('payload={"action":+"reopened"}')?.type).toBe("github.pull_request.reopened");
  });

  it("of 24 MB is not decoded whole to find its action", () => {
    const large = { action: "opened", text: "é".repeat(12_000_000) };
    expect(read(formOf(large))?.type).toBe("github.pull_request.opened");
    expect(read(formOf({ text: "x".repeat(2_000_000) }), "push")?.type).toBe("github.push");
  });

  it("that is none has the type of its event alone, whatever stands in it", () => {
    for (const body of ["", "payload", "payload=", "payload=%", "payload=%7B", "payloads=1", "&&&=&", "payload=[1]"]) {
      expect(read(body)?.type).toBe("github.pull_request");
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(read(Buffer.concat([Buffer.from("payload="), bytes]))?.type).toMatch(/^github\.pull_request/);
      }),
    );
  });
});
