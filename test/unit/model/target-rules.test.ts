import { describe, expect, it } from "vitest";
import { classify, type RetryOn } from "../../../src/destinations/classify-answer.ts";
import { findHealth, findPreset, presetSettings, checkTargetInput } from "../../../src/model/target-rules.ts";

const n8n = findPreset("n8n");

function outcomeOf(status: number, text: string, retryOn: RetryOn) {
  const body = new TextEncoder().encode(text);
  return classify({ kind: "response", status, headers: {}, body, address: "", url: "" }, retryOn, () => 0);
}

describe("the preset for n8n", () => {
  const settings = presetSettings({ target: "n8n" }, undefined);
  const { sourceStatuses, emptyStatuses, retryBody: bodyIs } = settings;
  const retryOn = { statuses: [], sourceStatuses, emptyStatuses, bodyContains: undefined, bodyIs };
  const unregistered = '{"code":404,"message":"The requested webhook \\"POST x\\" is not registered."}';

  it("holds a 404 against the source of the event, and not against n8n, unless that is said", () => {
    expect(outcomeOf(404, unregistered, retryOn)).toMatchObject({ kind: "failed", says: "well", missesSource: true });
    const said = presetSettings({ target: "n8n", retry_on: { statuses: [404] } }, undefined);
    const own = outcomeOf(404, unregistered, { ...retryOn, ...said, statuses: [404] });
    expect(own).toMatchObject({ kind: "failed", says: "ill", missesSource: false });
  });

  it.each([
    ["cloudflared, where no route leads to n8n", 404, ""],
    ["cloudflared, while n8n is away", 502, "<html><title>502 Bad Gateway</title>Unable to reach the origin service."],
    ["Cloudflare, while cloudflared is away", 530, "error code: 1033"],
    [
      "Cloudflare, while cloudflared is away, to a browser",
      530,
      "<!DOCTYPE html><title>Cloudflare Tunnel error</title>",
    ],
    ["Cloudflare, while the host is away", 522, "error code: 522"],
  ])("takes the answer of %s for n8n being away", (_, status, body) => {
    expect(outcomeOf(status, body, retryOn)).toMatchObject({ kind: "failed", says: "ill", missesSource: false });
  });

  it.each([
    [200, "n8n is starting up. Please wait", "failed"],
    [200, "n8n is starting up. Please wait\n", "failed"],
    [200, '{"text":"n8n is starting up. Please wait"}', "delivered"],
    [200, '{"message":"Workflow was started"}', "delivered"],
    [404, "Cannot POST /webhook/x", "failed"],
    [503, "Database is not ready!", "failed"],
    [400, "", "refused"],
    [422, '{"code":422}', "refused"],
  ])("takes %i %s for what it is: %s", (status, body, kind) => {
    expect(outcomeOf(status, body, retryOn).kind).toBe(kind);
  });

  it("gives way to what the subscription says, member for member", () => {
    expect(presetSettings({ target: "n8n", retry_on: { body_contains: "later" } }, undefined)).toMatchObject({
      retryBody: undefined,
      sourceStatuses: [404],
      maxBytes: 16 * 1024 * 1024,
    });
  });

  it("comes from the target that a subscription shares, which may set the size", () => {
    expect(presetSettings({ target: "home" }, { preset: "n8n", max_bytes: 7 })).toMatchObject({
      retryPolicy: "short",
      maxBytes: 7,
      wantsPlainJson: true,
    });
    expect(presetSettings({ target: "home" }, { max_bytes: 7 })).toMatchObject({ retryPolicy: undefined, maxBytes: 7 });
    expect(presetSettings({}, undefined)).toMatchObject({ retryPolicy: undefined, maxBytes: undefined });
  });

  it("finds its health at the host of the URL, whatever stands in the path", () => {
    expect(findHealth(undefined, n8n, "https://auto.example:5678/base/webhook/{source}?a=1")).toEqual({
      kind: "http",
      url: "https://auto.example:5678/healthz/readiness",
      otherUrl: "https://auto.example:5678/healthz",
    });
    expect(findHealth("https://x.example/up", n8n, "https://y.example/")).toEqual({
      kind: "http",
      url: "https://x.example/up",
      otherUrl: undefined,
    });
    expect(findHealth(undefined, undefined, "https://y.example/")).toBeUndefined();
  });
});

describe("what a target may be", () => {
  it.each([
    [{ name: "n8n" }, "name"],
    [{ name: "home", preset: "n8n" as const }, "preset"],
    [{ name: "home", url: "no url" }, "url"],
    [{ name: "home", health_url: "/healthz" }, "health_url"],
    [{ name: "home", description: "a\0b" }, "description"],
  ])("does not include %j", (input, field) => {
    expect(checkTargetInput(input).map((problem) => problem.field)).toEqual([field]);
  });

  it("includes the least and the most", () => {
    expect(checkTargetInput({ name: "home" })).toEqual([]);
    expect(checkTargetInput({ name: "home", preset: "n8n", url: "https://auto.example/" })).toEqual([]);
  });
});
