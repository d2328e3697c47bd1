import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiClient } from "../../src/cli/api-client.ts";
import { VERSION } from "../../src/config/version.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let old: Server;
let other: Server;

/** As an earlier gateway answers: it has the status page, and nothing of what came later. */
function startOld(): Promise<Server> {
  return listen((path) =>
    path === "/readyz"
      ? [200, { status: "ok", version: "0.0.9" }]
      : [404, { code: "not_found", detail: `There is nothing at GET ${path}.`, status: 404 }],
  );
}

function listen(answer: (path: string) => readonly [number, unknown]): Promise<Server> {
  const server = createServer((request, response) => {
    const [status, body] = answer(request.url ?? "");
    response.writeHead(status, { connection: "close" }).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const ask = (url: string, key: string | undefined, path = "/api/v1/sources") => createApiClient(url, key).get(path);

beforeAll(async () => {
  gateway = await startTestGateway();
  old = await startOld();
  other = await listen(() => [404, "<h1>Not found</h1>"]);
});

afterAll(async () => {
  await gateway.close();
  await Promise.all([old, other].map((server) => new Promise((resolve) => server.close(resolve))));
});

describe("a command that gets nowhere says why, and what to do next", () => {
  it("without a key", async () => {
    await expect(ask(gateway.url, undefined)).rejects.toThrow(
      `The gateway at ${gateway.url} asks for a key, and none was given (unauthorized). Give one with --key`,
    );
  });

  it("with a wrong key", async () => {
    await expect(ask(gateway.url, "phk_wrong")).rejects.toThrow(
      `The gateway at ${gateway.url} does not accept this key: it is wrong, revoked or expired (unauthorized). Check --key`,
    );
  });

  it("when the gateway is away", async () => {
    await expect(ask("http://127.0.0.1:2", ADMIN_KEY)).rejects.toThrow(
      /Cannot reach a gateway at http:\/\/127\.0\.0\.1:2 \(.+\)\. Start one with `posthorn start`/,
    );
  });

  it("when the gateway is older than the command line", async () => {
    await expect(ask(urlOf(old), ADMIN_KEY)).rejects.toThrow(
      `There is nothing at GET /api/v1/sources. It is version 0.0.9, the command line is ${VERSION}. Upgrade the gateway`,
    );
  });

  it("when another service has the port", async () => {
    await expect(ask(urlOf(other), ADMIN_KEY)).rejects.toThrow(
      `Another service answers at ${urlOf(other)} (status 404), not a Posthorn gateway. Check --url and POSTHORN_URL.`,
    );
  });

  it("and says nothing of versions where only a thing is missing", async () => {
    await expect(ask(gateway.url, ADMIN_KEY, "/api/v1/sources/missing")).rejects.toThrow(
      /^(?!.*command line).*missing.*\(not_found\)/,
    );
  });
});
