import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SMARTSHEET_EXAMPLE } from "../../plugins/smartsheet/routes.docs.ts";
import type { ApiClient } from "../support/api-client.ts";
import { startExampleSmartsheet, type ExampleSmartsheet } from "../support/example-smartsheet.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PATH = "/api/v1/smartsheet/webhooks";

describe("a function key", () => {
  let smartsheet: ExampleSmartsheet;
  let gateway: TestGateway;
  let nobody: ApiClient;

  beforeAll(async () => {
    smartsheet = await startExampleSmartsheet();
    const env = { LOG_LEVEL: "trace" };
    gateway = await startTestGateway({ yaml: `sources: [${smartsheet.source}]\n${smartsheet.settings}`, env });
    nobody = gateway.as(undefined);
  });
  afterAll(() => Promise.all([gateway.close(), smartsheet.close()]));

  const withHeader = (method: string, path: string, key: string) =>
    nobody.request(method, path, { headers: { "x-functions-key": key } });

  it("opens what Smartsheet's operators call, in its header and in the query", async () => {
    for (const answer of [
      await withHeader("GET", PATH, ADMIN_KEY),
      await nobody.get(`${PATH}?code=${ADMIN_KEY}`),
      await nobody.get(`${PATH}?source=${SMARTSHEET_EXAMPLE.source}&code=${encodeURIComponent(ADMIN_KEY)}`),
      await withHeader("POST", `${PATH}/register`, ADMIN_KEY),
      await nobody.post(`${PATH}/cleanup?code=${ADMIN_KEY}`, { dry_run: true }),
    ]) {
      expect([answer.status, answer.text]).toEqual([200, expect.not.stringContaining(ADMIN_KEY)]);
    }
  });

  it("is checked like any other", async () => {
    const [reader, bound] = [await gateway.createKey(["read"]), await gateway.createKey(["admin"], "acme")];
    const cases = [
      ["wrong-key-0123456789", 401],
      [reader, 403],
      [bound, 403],
    ] as const;
    for (const [key, status] of cases) {
      expect((await withHeader("GET", PATH, key)).status).toBe(status);
      expect((await nobody.get(`${PATH}?code=${key}`)).status).toBe(status);
    }
    expect((await nobody.get(`${PATH}?code=${ADMIN_KEY}&code=x`)).status).toBe(401);
  });

  it("opens nothing else", async () => {
    for (const path of ["/api/v1/subscriptions", "/api/v1/keys", "/status", "/validations"]) {
      expect([path, (await withHeader("GET", path, ADMIN_KEY)).status]).toEqual([path, 401]);
      expect([path, (await nobody.get(`${path}?code=${ADMIN_KEY}`)).status]).toEqual([path, 401]);
    }
    const event = { event_type: "a.b", payload: {} };
    expect((await nobody.post(`/api/v1/events?code=${ADMIN_KEY}`, event)).status).toBe(401);
  });

  it("is in no error, no log and no entry of the audit", async () => {
    const wrong = await nobody.get(`${PATH}?code=${ADMIN_KEY}&unknown=1`);
    expect([wrong.status, wrong.json["field"], wrong.text]).toEqual([
      422,
      "unknown",
      expect.not.stringContaining(ADMIN_KEY),
    ]);
    const { text, status } = await gateway.get("/api/v1/audit?limit=500");
    expect([status, text.includes(ADMIN_KEY)]).toEqual([200, false]);
    expect(gateway.logText()).not.toContain(ADMIN_KEY);
  });
});
