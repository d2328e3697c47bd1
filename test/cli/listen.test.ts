import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { findFreePort } from "../support/free-port.ts";
import { openCliFolder } from "../support/run-cli.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Got {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

let cli: CommandLine;
let gateway: TestGateway;
let server: Server;
let port = 0;
const got: Got[] = [];

beforeAll(async () => {
  gateway = await startTestGateway();
  cli = await openCommandLine(gateway);
  cli.env["XDG_STATE_HOME"] = cli.path;
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
  await cli.remove();
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  got.length = 0;
});

/** All that exists now; `flags` are instead of `--from last`. */
async function listen(what: string, ...flags: string[]): Promise<{ stdout: string; stderr: string }> {
  const to = `http://127.0.0.1:${port}/hooks?of=me`;
  const { exitCode, stdout, stderr } = await cli.run(["listen", what, "--to", to, "--no-follow", ...flags]);
  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
  return { stdout, stderr };
}

const refused = async (what: string, ...flags: string[]) => {
  const { exitCode, stderr } = await cli.run(["listen", what, "--to", String(port), "--no-follow", ...flags]);
  return [exitCode, stderr];
};

const BINARY = new Uint8Array([0, 255, 128, 10, 13, 27, 91]);

describe("posthorn listen", () => {
  it("forwards what came in at a source while it was away, byte for byte, in order and once", async () => {
    await listen("shop", "--from", "now");
    await gateway.webhook("shop/orders/7?a=1&b=%20x", BINARY, {
      "content-type": "application/octet-stream",
      "x-shop-signature": "sha256=abc",
      authorization: "Bearer of-the-sender",
      "proxy-connection": "keep-alive",
    });
    await gateway.webhook("shop", '{"n":9007199254740993}');
    await gateway.webhook("another", "{}");
    const { stdout, stderr } = await listen("shop");
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
    expect(stderr).toContain("headers not forwarded, because the gateway never shows their values: authorization");
    expect(stdout).toMatch(/-> {2}POST {2}\/orders\/7\?a=1&b=%20x {2}webhook\.shop {2}evt_\w+ {2}7 B/);
    expect(stdout).toMatch(/<- {2}201 {2}\d+ ms/);

    got.length = 0;
    expect((await listen("shop")).stderr).toContain("from where it ended at ");
    expect(got).toEqual([]);
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
    await listen("shop", "--from", since, "--to", `${port}/hooks`);
    expect(got.map(({ body }) => body.toString())).toEqual(['{"late":true}']);
  });

  it("forwards what a subscription gets, in its format and signed with its secret", async () => {
    const { id, secret } = await gateway.subscribe({
      name: "erp",
      url: "http://127.0.0.1:9/never",
      events: ["order.*"],
      headers: { "X-Key": "own-secret" },
    });
    await listen("erp", "--from", "now");
    await gateway.publish({ event_type: "order.created", payload: { id: 7 } });
    const { stdout, stderr } = await listen("erp");
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
    expect(stderr).toContain(`the subscription erp (${id})`);
    expect(stderr).toContain("answers given here do not affect them");
    expect(stdout).toContain("the delivery would be complete");
  });

  it("forwards as it came in, and says so, when the key may not see what is signed", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 8 } });
    const { stderr } = await listen("erp", "--key", await gateway.createKey(["read"]));
    expect(got.map(({ body, headers }) => [body.toString(), headers["webhook-signature"]])).toEqual([
      ['{"id":8}', undefined],
    ]);
    expect(stderr).toContain("without a signature of the gateway");
  });

  it("shows what the gateway would do with a failure, and sends nothing", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 9 } });
    const tried = await listen("erp", "--fail", "503");
    expect(got).toEqual([]);
    expect(tried.stdout).toMatch(/<- {2}503 {2}the delivery would be retried in 5 s; after 9 retries/);
    await gateway.publish({ event_type: "order.paid", payload: { id: 10 } });
    expect((await listen("erp", "--fail", "404")).stdout).toContain(
      "the delivery would be dead: such an answer is not retried",
    );
    // What was sent to nobody comes to the next who listens.
    await listen("erp");
    expect(got.map(({ body }) => JSON.parse(body.toString()).data)).toEqual([{ id: 9 }, { id: 10 }]);
  });

  it("waits for a local server that is away, and leaves nothing out", async () => {
    await gateway.publish({ event_type: "order.paid", payload: { id: 11 } });
    const address = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const run = cli.start(["listen", "erp", "--to", String(port), "--no-follow"]);
    await run.printed("waiting for it, no event is skipped", "stderr");
    await new Promise<void>((resolve) => server.listen(address.port, "127.0.0.1", resolve));
    expect((await run.finished).exitCode).toBe(0);
    expect(got.map(({ body }) => JSON.parse(body.toString()).data)).toEqual([{ id: 11 }]);
  });

  it("shows headers and bodies with --verbose, and nothing in them moves the cursor", async () => {
    await gateway.webhook("shop", "<b>\u001b[31mred\u0007</b>\nnext", { "content-type": "text/plain" });
    const { stdout: shown } = await listen("shop", "--verbose");
    expect(shown).toContain("    content-type: text/plain\n");
    expect(shown).toContain("    x-answer: yes\n");
    expect(shown).not.toContain("\u001b");
    expect(shown).not.toContain("\u0007");
    expect(got.map(({ body }) => body.toString())).toEqual(["<b>\u001b[31mred\u0007</b>\nnext"]);
  });

  it("rejects what it cannot use, and suggests what was meant", async () => {
    expect(await refused("shop", "--to", "ftp://localhost:3000")).toEqual([
      2,
      expect.stringContaining("write for example http://localhost:3000/hooks"),
    ]);
    expect(await refused("shop", "--from", "yesterday")).toEqual([2, expect.stringContaining("is not a time")]);
    await gateway.post("/api/v1/sources", { name: "erp", kind: "generic" });
    expect(await refused("erp")).toEqual([
      1,
      expect.stringContaining('A source and a subscription have the name "erp"'),
    ]);
    expect((await listen("erpp", "--from", "now")).stderr).toContain(
      'no source or subscription has the name "erpp"; did you mean erp?',
    );
  });

  it("goes on over a killed gateway and over its own end, without a gap and in order", async () => {
    const folder = await openCliFolder();
    const gatewayPort = String(await findFreePort());
    const start = () => folder.startGateway(["--port", gatewayPort], { POSTHORN_ADMIN_KEY: ADMIN_KEY });
    let killed = await start();
    const env = { POSTHORN_URL: killed.url, POSTHORN_API_KEY: ADMIN_KEY };
    const follow = () => cli.start(["listen", "shop", "--to", String(port)], env);
    const send = async (data: string) =>
      expect((await cli.run(["send", "--webhook", "shop", "--data", data], env)).exitCode).toBe(0);
    const bodies = () => got.map(({ body }) => body.toString());

    const first = follow();
    await first.printed("listening to the source shop", "stderr");
    await send('{"n":1}');
    await expect.poll(bodies).toEqual(['{"n":1}']);
    await killed.stop("SIGKILL");
    await first.printed("Trying again", "stderr");
    killed = await start();
    await send('{"n":2}');
    await expect.poll(bodies).toEqual(['{"n":1}', '{"n":2}']);
    const { exitCode, stderr } = await first.stop("SIGINT");
    expect(exitCode).toBe(0);
    expect(stderr).toContain("the gateway continues to receive and deliver without this command");
    expect(stderr).toContain("listening to the source shop again continues from here");
    expect(stderr).toContain(`forwarding to http://127.0.0.1:${port}/;`);

    await send('{"n":3}');
    // What a rehearsal shows is not missed later.
    const rehearsal = await cli.run(["listen", "shop", "--to", "9", "--fail", "503", "--no-follow"], env);
    expect(rehearsal).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("503") });
    expect(rehearsal.stderr).toContain("nothing was forwarded, and the position is where it was");
    const unknown = await cli.run(["listen", "nope", "--to", "9", "--no-follow"], env);
    expect(unknown.stderr).toContain('no source or subscription has the name "nope". Forwarding earlier webhooks to');
    const second = follow();
    await expect.poll(bodies).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    await second.stop("SIGINT");
    await folder.remove();
  });
});
