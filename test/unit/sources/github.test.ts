import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { github } from "../../../src/sources/github.ts";
import { arrive, settingsOf } from "../../contract/source-fixture.ts";

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

async function read(body: Buffer | string, event?: string) {
  const request = post(body, event);
  await github.verify?.(request, settings);
  const reading = await github.events?.(request, settings, { kind: "other", texts: [] });
  return reading?.events[0];
}

const formOf = (payload: unknown, more = {}) =>
  new URLSearchParams({ payload: JSON.stringify(payload), ...more }).toString();

describe("a form of GitHub", () => {
  it("has the type that the same webhook has as JSON, is verified as it came and stays as it is", async () => {
    const event = await read(formOf({ action: "opened", number: 1, title: "ä & + = %" }));
    expect(event).toMatchObject({ type: "github.pull_request.opened", identity: "d-1" });
    expect(event?.body).toBeUndefined();
    expect((await read(formOf({ ref: "refs/heads/main", head: { action: "no" } }), "push"))?.type).toBe("github.push");
    expect((await read(`other=1&${formOf({ action: "closed" })}&more=2`))?.type).toBe("github.pull_request.closed");
    expect((await read('payload={"action":+"reopened"}'))?.type).toBe("github.pull_request.reopened");
  });

  it("of many megabytes is not decoded whole to find its action", async () => {
    const large = { action: "opened", text: "é".repeat(500_000) };
    expect((await read(formOf(large)))?.type).toBe("github.pull_request.opened");
    expect((await read(formOf({ text: "x".repeat(500_000) }), "push"))?.type).toBe("github.push");
  });

  it("that is none has the type of its event alone, whatever stands in it", async () => {
    for (const body of ["", "payload", "payload=", "payload=%", "payload=%7B", "payloads=1", "&&&=&", "payload=[1]"]) {
      expect((await read(body))?.type).toBe("github.pull_request");
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect((await read(Buffer.concat([Buffer.from("payload="), bytes])))?.type).toMatch(/^github\.pull_request/);
      }),
    );
  });
});
