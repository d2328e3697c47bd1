import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSinkServer, type SinkAnswer, type SinkRequest, type SinkServer } from "../../support/sink-server.ts";
import { startSmartsheetServer, type ServedWebhook, type SmartsheetServer } from "../../support/smartsheet-server.ts";

const SHEET = "4509506114742148";

let server: SmartsheetServer;
let receiver: SinkServer;
beforeEach(async () => {
  // A quarter of a day in 20 ms.
  server = await startSmartsheetServer({ allowHttpCallbacks: true, timeFactor: 1_000_000, retryNonce: "fresh" });
  receiver = await openSinkServer({ answer: answering(200) });
});
afterEach(() => Promise.all([server.close(), receiver.close()]));

/** Answers challenges rightly, and callbacks with this status. */
function answering(status: number | ((index: number) => number)): (request: SinkRequest) => SinkAnswer {
  let index = 0;
  return ({ headers }) => {
    const challenge = headers["smartsheet-hook-challenge"];
    if (typeof challenge === "string") return { status: 200, headers: { "smartsheet-hook-response": challenge } };
    return { status: typeof status === "number" ? status : status(index++) };
  };
}

const add = (change: Partial<ServedWebhook> = {}) =>
  server.addWebhook({ scopeObjectId: SHEET, callbackUrl: receiver.url, enabled: true, status: "ENABLED", ...change });
const change = async (id = "1") => {
  server.change(SHEET, [{ objectType: "row", eventType: "updated", id }]);
  await server.idle();
};
const put = (webhook: ServedWebhook, body: object, token = server.token) =>
  fetch(`${server.apiHost}webhooks/${webhook.id}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });

describe("the server that stands in for Smartsheet", () => {
  it("signs its callbacks with the webhook's own secret", async () => {
    const webhook = add();
    await change();
    const [request] = receiver.requests;
    const hmac = createHmac("sha256", webhook.sharedSecret)
      .update(request?.body ?? "")
      .digest("hex");
    expect(request?.headers["smartsheet-hmac-sha256"]).toBe(hmac);
    expect(JSON.parse(String(request?.body))).toMatchObject({ webhookId: Number(webhook.id), scope: "sheet" });
  });

  it.each([201, 202, 204, 302, 410])("disables a webhook at once that answers %i", async (status) => {
    receiver.answerWith(answering(status));
    const webhook = add();
    await change();
    expect([webhook.status, receiver.requests.length]).toEqual(["DISABLED_CALLBACK_FAILED", 1]);
    // And sends what happens meanwhile to nobody, ever.
    await change();
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([400, 401, 429, 500, 503])(
    "tries again up to 14 times after %i, then disables the webhook",
    async (status) => {
      receiver.answerWith(answering(status));
      const webhook = add();
      await change();
      expect([webhook.status, receiver.requests.length]).toEqual(["DISABLED_CALLBACK_FAILED", 15]);
    },
  );

  it("goes on in order after a try that succeeds", async () => {
    receiver.answerWith(answering((index) => (index < 3 ? 503 : 200)));
    const webhook = add();
    server.change(SHEET, [{ objectType: "row", eventType: "updated", id: "1" }]);
    await change("2");
    expect(webhook.status).toBe("ENABLED");
    expect(server.callbacks.map(({ status, attempt }) => [status, attempt])).toEqual([
      [503, 1],
      [503, 2],
      [503, 3],
      [200, 4],
      [200, 1],
    ]);
  });

  it("verifies while it is told to enable, and again after every hundred callbacks", async () => {
    const webhook = add({ enabled: false, status: "NEW_NOT_VERIFIED" });
    const answer = (await (await put(webhook, { enabled: true })).json()) as { result: { status: string } };
    expect(answer.result.status).toBe("ENABLED");
    expect(receiver.requests).toHaveLength(1);
    webhook.callbackCount = 98;
    await change();
    expect(receiver.requests).toHaveLength(2);
    receiver.answerWith({ status: 200 });
    await change();
    // The callback was taken, the challenge was not answered.
    expect([webhook.status, receiver.requests.length]).toEqual(["DISABLED_VERIFICATION_FAILED", 4]);
  });

  it("rejects enabling what has ended, and callers without a token", async () => {
    for (const [status, errorCode] of [
      ["DISABLED_APP_REVOKED", 1153],
      ["DISABLED_ADMINISTRATIVE", 1154],
    ] as const) {
      const answer = await put(add({ enabled: false, status }), { enabled: true });
      expect(await answer.json()).toMatchObject({ errorCode });
    }
    const answer = await put(add(), { enabled: true }, "wrong");
    expect([answer.status, await answer.json()]).toEqual([401, expect.objectContaining({ errorCode: 1002 })]);
  });

  it("calls only the oldest enabled of webhooks that are the same", async () => {
    add({ enabled: false, status: "DISABLED_BY_OWNER" });
    const oldest = add();
    add();
    await change();
    expect(server.callbacks.map(({ webhookId }) => webhookId)).toEqual([oldest.id]);
  });
});
