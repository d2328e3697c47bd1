import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { SERVER_PAIR, TEST_CA } from "../support/certificates.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { openRawSocket } from "../support/raw-socket.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** What a browser or a cache between could make of an answer. */
describe("answers", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      yaml: "sources: [{ name: chat, kind: slack, secrets: [0123456789abcdef0123] }]",
    });
  });
  afterAll(() => gateway.close());

  it("are kept by nobody, and taken for nothing else than they are", async () => {
    const event = { event_id: "same", event_type: "a.b", payload: {} };
    const answers = {
      webhook: await gateway.webhook("shop", "{}", { "webhook-id": "same" }),
      duplicate: await gateway.webhook("shop", "{}", { "webhook-id": "same" }),
      "unreadable webhook": await gateway.webhook("shop", "{"),
      "refused by its kind": await gateway.webhook("chat", "{}"),
      publish: await gateway.publish(event),
      "publish twice": await gateway.publish(event),
      "publish nothing": await gateway.publish({}),
      list: await gateway.get("/api/v1/events"),
      one: await gateway.get("/api/v1/events/same"),
      created: await gateway.post("/api/v1/keys", { name: "k", scopes: ["read"] }),
      export: await gateway.get("/api/v1/events/export"),
      "export of types": await gateway.get("/api/v1/event-types/export"),
      invalid: await gateway.post("/api/v1/keys", {}),
      "no key": await gateway.as(undefined).get("/api/v1/events"),
      "not found": await gateway.get("/nothing"),
      "wrong method": await gateway.post("/health"),
      health: await gateway.get("/health"),
      ready: await gateway.get("/readyz"),
      status: await gateway.get("/status"),
      metrics: await gateway.get("/metrics"),
    };
    const shown = Object.entries(answers).map(([name, { headers }]) => [
      name,
      headers.get("x-content-type-options"),
      headers.get("cache-control"),
    ]);
    expect(shown).toEqual(Object.keys(answers).map((name) => [name, "nosniff", "no-store"]));
  });

  it("to what is no HTTP are too", async () => {
    const socket = await openRawSocket(gateway.port);
    socket.write("no http at all\r\n\r\n");
    const { status, headers } = await socket.answer();
    expect([status, headers["x-content-type-options"], headers["cache-control"]]).toEqual([400, "nosniff", "no-store"]);
    socket.destroy();
  });

  it("over the gateway's own https keep browsers from plain http, but not those of the same machine", async () => {
    const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(cert, SERVER_PAIR.cert);
    writeFileSync(key, SERVER_PAIR.key);
    const secure = await startTestGateway({ env: { TLS_CERT: cert, TLS_KEY: key } });
    onTestFinished(() => secure.close());
    const hstsOf = (path: string, host: string) =>
      new Promise((resolve, reject) => {
        const at = { port: secure.port, path, ca: TEST_CA, servername: "sink.test", headers: { host } };
        get({ host: "127.0.0.1", ...at }, (answer) => {
          answer.resume();
          resolve(answer.headers["strict-transport-security"]);
        }).on("error", reject);
      });
    for (const path of ["/health", "/nothing", "/webhook/shop"]) {
      expect(await hstsOf(path, "hooks.example.com")).toBe("max-age=15552000");
      for (const own of ["localhost:8080", "127.0.0.1"]) expect(await hstsOf(path, own)).toBeUndefined();
    }
  });
});
