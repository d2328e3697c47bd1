import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const sms = { to: "+8801712345678", text: "hello", url: "https://sms.example/send" };

describe("a value that is not among the choices", () => {
  it.each([
    ["GET", "/api/v1/events?status=DEAD", undefined, "status must be one of PENDING, COMPLETED, FAILED"],
    [
      "GET",
      "/api/v1/deliveries?status=failed",
      undefined,
      "status must be one of pending, sending, delivered, dead, cancelled",
    ],
    ["GET", "/api/v1/alerts?severity=fatal", undefined, "severity must be one of info, warning, critical"],
    [
      "POST",
      "/api/v1/subscriptions",
      { name: "a", events: ["a"], url: "https://a.example", preset: "irc" },
      "preset must be one of slack, teams, discord, or null",
    ],
    [
      "POST",
      "/api/v1/subscriptions",
      { name: "a", events: ["a"], kind: "sms", destination: { ...sms, gateway: "pigeon" } },
      "destination.gateway: must be one of twilio, generic-http",
    ],
  ])("is rejected with the choices: %s %s", async (method, path, body, message) => {
    const answer = await gateway.request(method, path, {
      body: body && JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(422);
    expect(answer.json["detail"]).toContain(message);
    expect(answer.text).not.toContain("constant");
  });
});
