import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { runListen, type ListenFlags } from "../../src/cli/listen/run-listen.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Got {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

let gateway: TestGateway;
let server: Server;
let port = 0;
const got: Got[] = [];
const printed: string[] = [];
const noted: string[] = [];
const stateDir = mkdtempSync(join(tmpdir(), "posthorn-listen-"));
const before = process.env["XDG_STATE_HOME"];

beforeAll(async () => {
  process.env["XDG_STATE_HOME"] = stateDir;
  gateway = await startTestGateway();
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      got.push({ method, url, headers, body: Buffer.concat(chunks) });
      response.writeHead(201, { "x-answer": "yes" }).end("thanks \u001b[2J");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});

afterAll(async () => {
  if (before === undefined) delete process.env["XDG_STATE_HOME"];
  else process.env["XDG_STATE_HOME"] = before;
  rmSync(stateDir, { recursive: true, force: true });
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  for (const list of [got, printed, noted]) list.length = 0;
  vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(String(text)) > 0);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => noted.push(String(text)) > 0);
});
afterEach(() => vi.restoreAllMocks());

const listen = (what: string | undefined, more: Partial<ListenFlags> = {}) =>
  runListen(what, {
    url: gateway.url,
    key: ADMIN_KEY,
    to: `http://127.0.0.1:${port}/hooks?of=me`,
    from: "last",
    wait: true,
    follow: false,
    ...more,
  });

const BINARY = new Uint8Array([0, 255, 128, 10, 13, 27, 91]);

describe("posthorn listen", () => {
  it("forwards what came in at a source while it was away, byte for byte, in order and once", async () => {
    await listen("shop", { from: "now" });
    await gateway.webhook("shop/orders/7?a=1&b=%20x", BINARY, {
      "content-type": "application/octet-stream",
      "x-shop-signature": "sha256=abc",
      authorization: "Bearer of-the-sender",
      "proxy-connection": "keep-alive",
    });
    await gateway.webhook("shop", '{"n":9007199254740993}');
    await gateway.webhook("another", "{}");
    await listen("shop");
    expect(got.map(({ method, url }) => [method, url])).toEqual([
      ["POST", "/hooks/orders/7?of=me&a=1&b=%20x"],
      ["POST", "/hooks?of=me"],
    ]);
    const [first, second] = got as [Got, Got];
    expect(first.body.equals(Buffer.from(BINARY))).toBe(true);
    expect(second.body.toString()).toBe('{"n":9007199254740993}');
    expect(first.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "x-shop-signature": "sha256=abc",
      "content-length": "7",
      host: `127.0.0.1:${port}`,
      "posthorn-event-type": "webhook.shop",
    });
    expect(first.headers).not.toHaveProperty("authorization");
    expect(first.headers).not.toHaveProperty("proxy-connection");
    expect(noted.join("")).toContain(
      "headers not forwarded, because the gateway never shows their values: authorization",
    );
    expect(printed.join("")).toMatch(/-> {2}POST {2}\/orders\/7\?a=1&b=%20x {2}webhook\.shop {2}evt_\w+ {2}7 B/);
    expect(printed.join("")).toMatch(/<- {2}201 {2}\d+ ms/);

    got.length = 0;
    await listen("shop");
    expect(got).toEqual([]);
    expect(noted.join("")).toContain("from where it ended at ");
  });

  it("forwards bodies that are too large for the stream", async () => {
    const large = Buffer.alloc(400_000, 7);
    await gateway.webhook("shop", new Uint8Array(large), { "content-type": "application/octet-stream" });
    await listen("shop");
    expect(got.map(({ body }) => body.equals(large))).toEqual([true]);
  });

  it("begins at a time, and leaves out what came before it", async () => {
    gateway.moveClock(60_000);
    const since = new Date(gateway.now()).toISOString();
    await gateway.webhook("shop", '{"late":true}');
    await listen("shop", { from: since, to: `${port}/hooks` });
    expect(got.map(({ body }) => body.toString())).toEqual(['{"late":true}']);
  });

  it("forwards what a subscription gets, in its format and signed with its secret", async () => {
    const { id, secret } = await gateway.subscribe({
      name: "erp",
      url: "http://127.0.0.1:9/never",
      events: ["order.*"],
      headers: { "X-Key": "own-secret" },
    });
    await listen("erp", { from: "now" });
    await gateway.publish({ event_type: "order.created", payload: { id: 7 } });
    await listen("erp");
    const [{ method, url, headers, body }] = got as [Got];
    expect([method, url]).toEqual(["POST", "/hooks?of=me"]);
    expect(JSON.parse(body.toString())).toMatchObject({ event: "order.created", data: { id: 7 } });
    const signed = Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, String(headers[name])]),
    );
    expect(() => new Webhook(secret).verify(body, signed)).not.toThrow();
    expect(() => new Webhook(secret).verify(Buffer.from("{}"), signed)).toThrow("No matching signature");
    expect(headers["x-webhook-id"]).toMatch(/^dlv_/);
    expect(headers).not.toHaveProperty("x-key");
    expect(noted.join("")).toContain(`the subscription erp (${id})`);
    expect(noted.join("")).toContain("answers given here do not affect them");
    expect(printed.join("")).toContain("the delivery would be complete");
  });

  it("forwards as it came in, and says so, when the key may not see what is signed", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 8 } });
    await listen("erp", { key: await gateway.createKey(["read"]) });
    expect(got.map(({ body, headers }) => [body.toString(), headers["webhook-signature"]])).toEqual([
      ['{"id":8}', undefined],
    ]);
    expect(noted.join("")).toContain("without a signature of the gateway");
  });

  it("shows what the gateway would do with a failure, and sends nothing", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 9 } });
    await listen("erp", { fail: "503" });
    expect(got).toEqual([]);
    expect(printed.join("")).toMatch(/<- {2}503 {2}the delivery would be retried in 5 s; after 9 retries/);
    await gateway.publish({ event_type: "order.paid", payload: { id: 10 } });
    await listen("erp", { fail: "404" });
    expect(printed.join("")).toContain("the delivery would be dead: such an answer is not retried");
    // What was sent to nobody comes to the next who listens.
    await listen("erp");
    expect(got.map(({ body }) => JSON.parse(body.toString()).data)).toEqual([{ id: 9 }, { id: 10 }]);
  });

  it("waits for a local server that is away, and leaves nothing out", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 11 } });
    const address = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const run = listen("erp");
    await expect.poll(() => noted.join("")).toContain("waiting for it, no event is skipped");
    await new Promise<void>((resolve) => server.listen(address.port, "127.0.0.1", resolve));
    await run;
    expect(got.map(({ body }) => JSON.parse(body.toString()).data)).toEqual([{ id: 11 }]);
  });

  it("shows headers and bodies with --verbose, and nothing in them moves the cursor", async () => {
    await gateway.webhook("shop", "<b>\u001b[31mred\u0007</b>\nnext", { "content-type": "text/plain" });
    await listen("shop", { verbose: true });
    const shown = printed.join("");
    expect(shown).toContain("    content-type: text/plain\n");
    expect(shown).toContain("    x-answer: yes\n");
    expect(shown).not.toContain("\u001b");
    expect(shown).not.toContain("\u0007");
    expect(got.map(({ body }) => body.toString())).toEqual(["<b>\u001b[31mred\u0007</b>\nnext"]);
  });

  it("refuses what it cannot use, and tells what was meant", async () => {
    await expect(listen("shop", { to: "ftp://localhost:3000" })).rejects.toThrow(
      "write for example http://localhost:3000/hooks",
    );
    await expect(listen("shop", { from: "yesterday" })).rejects.toThrow("is not a time");
    await gateway.post("/api/v1/sources", { name: "erp", kind: "generic" });
    await expect(listen("erp")).rejects.toThrow('A source and a subscription have the name "erp"');
    await listen("erpp", { from: "now" });
    expect(noted.join("")).toContain('no source or subscription has the name "erpp"; did you mean erp?');
  });
});
