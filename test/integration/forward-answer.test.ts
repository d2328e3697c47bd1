import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("a source whose webhooks are forwarded", () => {
  let gateway: TestGateway;
  let target: SinkServer;

  beforeAll(async () => {
    const yaml = `
sources:
  - { name: quick, answer_within: 60 }
  - { name: signed, kind: hmac, secrets: [0123456789abcdef-secret], options: { header: X-Signature } }
  - { name: keyed, kind: api-key, secrets: [0123456789abcdef-secret] }
  - { name: open, kind: none }
  - { name: hub, kind: github, secrets: [0123456789abcdef-secret] }
  - { name: tokened, auth: { header: X-Gate, token: "0123456789abcdef-token" } }
`;
    [gateway, target] = await Promise.all([startTestGateway({ yaml }), openSinkServer()]);
    const url = `${target.url}/hook/{source}`;
    await gateway.subscribe({ name: "n8n", url, mode: "forward", forward_headers: ["*", "X-Gate"] });
  });
  afterAll(() => Promise.all([gateway.close(), target.close()]));

  it("answers within the time that its senders have", async () => {
    target.answerWith("hang");
    const answer = gateway.webhook("quick", "{}");
    await target.received(1);
    gateway.moveClock(61_000);
    expect((await answer).status).toBe(202);
    target.answerWith({ status: 200 });
  });

  it("tells queued from forwarded by its status, unless it is a provider's", async () => {
    const secret = "0123456789abcdef-secret";
    const signature = createHmac("sha256", secret).update("{}").digest("hex");
    const senders = [
      ["signed", { "x-signature": signature }, [200, 202]],
      ["keyed", { "x-api-key": secret }, [200, 202]],
      ["open", {}, [200, 202]],
      ["hub", { "x-hub-signature-256": `sha256=${signature}`, "x-github-event": "push" }, [200, 200]],
    ] as const;
    for (const [name, headers, expected] of senders) {
      target.answerWith({ status: 200 });
      const forwarded = await gateway.webhook(name, "{}", headers);
      target.answerWith({ status: 503 });
      const queued = await gateway.webhook(name, "{}", headers);
      expect([name, forwarded.json["status"], queued.json["status"]]).toEqual([name, "forwarded", "queued"]);
      expect([name, [forwarded.status, queued.status]]).toEqual([name, expected]);
    }
    target.answerWith({ status: 200 });
  });

  it("keeps the token of its own gate to itself", async () => {
    const { status } = await gateway.webhook("tokened/a", "{}", { "x-gate": "0123456789abcdef-token" });
    expect(status).toBe(200);
    const arrived = target.requests.at(-1);
    expect([arrived?.path, arrived?.headers["x-gate"]]).toEqual(["/hook/tokened/a", undefined]);
  });
});
