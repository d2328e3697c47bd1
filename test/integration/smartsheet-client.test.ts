import { globalAgent } from "node:https";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createSmartsheetClient, type SmartsheetClient } from "../../plugins/smartsheet/client.ts";
import { until } from "../support/api-client.ts";
import { SERVER_PAIR } from "../support/certificates.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { createHastyClock } from "../support/hasty-clock.ts";
import { startSmartsheetServer, type SmartsheetServer } from "../support/smartsheet-server.ts";

const SHEET = "4509506114742148";
const CALLBACK = "https://hooks.example.com/webhook/smartsheet";
/** So that a minute of waiting is a tenth of a second, and a deadline of 30 s still half a minute. */
const FACTOR = 600;

let server: SmartsheetServer;
beforeEach(async () => void (server = await startSmartsheetServer()));
afterEach(() => server.close());

const connect = (change: { accessToken?: string; apiHost?: string; timeoutMs?: number } = {}): SmartsheetClient =>
  createSmartsheetClient({
    accessToken: server.token,
    apiHost: server.apiHost,
    clock: createHastyClock(FACTOR),
    random: { next: () => 0 },
    userAgent: "Posthorn/test",
    timeoutMs: 30_000 * FACTOR,
    ...change,
  });
const webhook = { name: "a", callbackUrl: CALLBACK, sheetId: SHEET };

describe("the client of Smartsheet", () => {
  it("makes, reads, lists and deletes webhooks, with ids as digits", async () => {
    const client = connect();
    const made = await client.createWebhook(webhook);
    expect(made).toMatchObject({ scope: "sheet", scopeId: SHEET, callbackUrl: CALLBACK, status: "NEW_NOT_VERIFIED" });
    expect(made.sharedSecret).toBe(server.webhooks[0]?.sharedSecret);
    expect(await client.getWebhook(made.id)).toMatchObject({ id: made.id });
    expect(await client.listWebhooks()).toHaveLength(1);
    await client.deleteWebhook(made.id);
    expect(server.webhooks).toEqual([]);
  });

  it("reads page after page until one is short", async () => {
    for (let n = 0; n < 250; n++) server.addWebhook({ scopeObjectId: String(n + 1), callbackUrl: CALLBACK });
    expect(await connect().listWebhooks()).toHaveLength(250);
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ["a broken connection", "drop"],
    ["500", { status: 500, errorCode: 4000 }],
    ["maintenance", { status: 503, errorCode: 4001 }],
    ["the rate limit", { status: 429, errorCode: 4003 }],
    ["the rate limit under another status", { status: 400, errorCode: 4003 }],
  ] as const)("tries again after %s", async (_, failure) => {
    server.failNext(failure, 2);
    expect(await connect().listWebhooks()).toEqual([]);
    expect(server.requests).toHaveLength(3);
  });

  it("gives up after five tries, and says why", async () => {
    server.failNext("drop", 9);
    await expect(connect().listWebhooks()).rejects.toMatchObject({
      code: "smartsheet_failed",
      message: "Smartsheet did not list webhooks: it could not be reached.",
    });
    expect(server.requests).toHaveLength(5);
  });

  it("does not try again what is rejected, and never shows the token", async () => {
    const refused = connect({ accessToken: "wrong-token" }).listWebhooks();
    await expect(refused).rejects.toMatchObject({
      code: "smartsheet_failed",
      message: "Smartsheet did not list webhooks: Your Access Token is invalid. (status 401, error 1002).",
    });
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(await refused.catch((error: unknown) => error))).not.toContain("wrong-token");
  });

  it("makes nothing twice when it does not know whether it was made", async () => {
    server.failNext("lost");
    await expect(connect().createWebhook(webhook)).rejects.toMatchObject({ details: { may_have_happened: true } });
    expect(server.webhooks).toHaveLength(1);
    expect(server.requests).toEqual(["POST /webhooks"]);
    // A clear no may be followed by another try.
    server.failNext({ status: 429, errorCode: 4003 });
    await connect().createWebhook(webhook);
    expect(server.webhooks).toHaveLength(2);
  });

  it("ends a call that is never answered", async () => {
    server.failNext("hang");
    await expect(connect({ timeoutMs: 100 * FACTOR }).createWebhook(webhook)).rejects.toMatchObject({
      message: "Smartsheet did not make a webhook: it gave no answer in time.",
    });
  });

  it("lets nobody wait when the gateway stops", async () => {
    const client = connect();
    server.failNext("hang");
    const called = client.listWebhooks();
    await until(() => server.requests.length === 1);
    client.close();
    await expect(called).rejects.toMatchObject({ code: "shutting_down" });
    await expect(client.listWebhooks()).rejects.toMatchObject({ code: "shutting_down" });
    expect(server.requests).toHaveLength(1);
  });

  it("takes what is deleted already for deleted", async () => {
    await connect().deleteWebhook("123");
    expect(server.requests).toEqual(["DELETE /webhooks/123"]);
  });

  it("sends no id that its package would round", async () => {
    const sheetId = "90071992547409931";
    await expect(connect().createWebhook({ ...webhook, sheetId })).rejects.toMatchObject({ code: "smartsheet_failed" });
    expect(server.requests).toEqual([]);
  });

  // shows: A35
  it.each([
    [undefined, "api.smartsheet.com"],
    ["https://api.smartsheet.eu/2.0/", "api.smartsheet.eu"],
    ["https://api.smartsheet.eu/2.0", "api.smartsheet.eu"],
    ["https://api.smartsheet.eu", "api.smartsheet.eu"],
    ["api.smartsheet.eu", "api.smartsheet.eu"],
  ])("with SMARTSHEET_API_HOST=%s speaks to %s, and to nobody else", async (apiHost, host) => {
    const page = JSON.stringify({ pageNumber: 1, pageSize: 100, totalPages: -1, totalCount: -1, data: [] });
    const remote = await openSinkServer({ tls: SERVER_PAIR, answer: { status: 200, body: page } });
    onTestFinished(() => remote.close());
    const asked: string[] = [];
    // Nothing leaves this machine: every connection of the package ends here, whomever it asks for.
    const agent = globalAgent as unknown as { createConnection: (options: { host: string; port: number }) => unknown };
    vi.spyOn(agent, "createConnection").mockImplementation((options) => {
      asked.push(`${options.host}:${options.port}`);
      return connectTls({ host: "127.0.0.1", port: remote.port, rejectUnauthorized: false });
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    });
    vi.stubEnv("NO_PROXY", "*");
    vi.stubEnv("SMARTSHEET_API_HOST", "https://not.asked.example/2.0/");
    const client = createSmartsheetClient({
      accessToken: "token-of-an-account-in-europe",
      apiHost,
      clock: createHastyClock(FACTOR),
      random: { next: () => 0 },
      userAgent: "Posthorn/test",
      timeoutMs: 30_000 * FACTOR,
    });
    expect(await client.listWebhooks()).toEqual([]);
    client.close();
    expect(asked).toEqual([`${host}:443`]);
    const [request] = remote.requests;
    expect(request?.path).toMatch(/^\/2\.0\/webhooks\?/);
    expect(request?.headers).toMatchObject({ host, authorization: "Bearer token-of-an-account-in-europe" });
  });

  it("sends its token to https and to this machine only", async () => {
    const client = connect({ apiHost: "http://api.smartsheet.example/2.0/" });
    await expect(client.listWebhooks()).rejects.toMatchObject({ code: "conflict" });
  });
});
