import { describe, expect, it } from "vitest";
import { classify } from "../../../src/domain/classify.ts";
import { findHealth, findPreset, presetSettings } from "../../../src/domain/target-presets.ts";
import { checkTargetInput } from "../../../src/domain/target-rules.ts";

const n8n = findPreset("n8n");

function answer(status: number, text: string) {
  const response = { status, headers: "{}", body: new TextEncoder().encode(text) };
  return status < 300
    ? ({ kind: "delivered", response } as const)
    : ({ kind: "refused", response, error: `answered ${status}` } as const);
}

describe("the preset for n8n", () => {
  const settings = presetSettings({ target: "n8n" }, undefined);
  const { sourceStatuses } = settings;
  const retryOn = { statuses: [], sourceStatuses, bodyContains: undefined, bodyIs: settings.retryBody };

  it("holds a 404 against the source of the event, and not against n8n, unless that is said", () => {
    expect(classify(answer(404, ""), retryOn)).toMatchObject({ countsAgainstEndpoint: false, missesSource: true });
    const said = presetSettings({ target: "n8n", retry_on: { statuses: [404] } }, undefined);
    const own = classify(answer(404, ""), { ...retryOn, ...said, statuses: [404] });
    expect(own).toMatchObject({ verdict: "retry", countsAgainstEndpoint: true });
  });

  it.each([
    [200, "n8n is starting up. Please wait", "retry"],
    [200, "n8n is starting up. Please wait\n", "retry"],
    [200, '{"text":"n8n is starting up. Please wait"}', "delivered"],
    [200, '{"message":"Workflow was started"}', "delivered"],
    [404, "Cannot POST /webhook/x", "retry"],
    [503, "Database is not ready!", "retry"],
    [400, "", "dead"],
    [422, '{"code":422}', "dead"],
  ])("takes %i %s for what it is: %s", (status, body, verdict) => {
    expect(classify(answer(status, body), retryOn).verdict).toBe(verdict);
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
      retryPolicy: "proxy",
      maxBytes: 7,
      wantsPlainJson: true,
    });
    expect(presetSettings({ target: "home" }, { max_bytes: 7 })).toMatchObject({ retryPolicy: undefined, maxBytes: 7 });
    expect(presetSettings({}, undefined)).toMatchObject({ retryPolicy: undefined, maxBytes: undefined });
  });

  it("finds its health at the host of the URL, whatever stands in the path", () => {
    expect(findHealth(undefined, n8n, "https://auto.example:5678/base/webhook/{source}?a=1")).toEqual({
      url: "https://auto.example:5678/healthz/readiness",
      otherUrl: "https://auto.example:5678/healthz",
    });
    expect(findHealth("https://x.example/up", n8n, "https://y.example/")).toEqual({
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
