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

  it("keeps the token of its own gate to itself", async () => {
    const { status } = await gateway.webhook("tokened/a", "{}", { "x-gate": "0123456789abcdef-token" });
    expect(status).toBe(200);
    const arrived = target.requests.at(-1);
    expect([arrived?.path, arrived?.headers["x-gate"]]).toEqual(["/hook/tokened/a", undefined]);
  });
});
