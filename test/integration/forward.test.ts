import { afterEach, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("forwarding a webhook while its sender waits", () => {
  let gateway: TestGateway;
  let target: SinkServer;

  async function open(): Promise<void> {
    [gateway, target] = await Promise.all([startTestGateway(), openSinkServer()]);
  }
  afterEach(() => Promise.all([gateway.close(), target.close()]));

  it("answers 200 once the target has taken it", async () => {
    await open();
    await gateway.subscribe({ name: "n8n", url: `${target.url}/hook/{source}`, events: ["webhook.*"], mode: "forward" });
    const answer = await gateway.webhook("orders/eu/7?x=%20&y", '{"a": 1}', { "x-shop": "berlin" });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: "forwarded", event_id: expect.stringMatching(/^evt_/) });
    const [request] = target.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hook/orders/eu/7?x=%20&y" });
    expect(request?.body.toString()).toBe('{"a": 1}');
    expect(request?.headers).toMatchObject({ "x-shop": "berlin", "x-forwarded-for": "127.0.0.1", "webhook-id": answer.json["event_id"] });
    console.log(request?.rawHeaders);
  });
});
