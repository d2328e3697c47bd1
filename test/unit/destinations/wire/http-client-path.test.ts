import { afterEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import type { HttpClient, HttpResult } from "../../../../src/destinations/wire/http.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { openSinkServer, type SinkOptions, type SinkServer } from "../../../support/sink-server.ts";

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function open(options: SinkOptions = {}): Promise<{ sink: SinkServer; client: HttpClient }> {
  const guard = createAddressGuard({ allowPrivate: ["127.0.0.1/32"] });
  const client = openHttpClient({ guard, allowHttp: true, clock: createSystemClock() });
  const sink = await openSinkServer(options);
  opened.push(sink, client);
  return { sink, client };
}

function post(client: HttpClient, url: string, path: string): Promise<HttpResult> {
  const request = { method: "POST", url, path, headers: {}, body: Buffer.from("{}"), timeoutMs: 10_000 };
  return new Promise((resolve) => client.request(request, resolve));
}

describe("a request with a path of its own", () => {
  it("goes there, byte for byte, and to no other host", async () => {
    const { sink, client } = await open();
    const path = "//evil.example/@x/..?y='";
    expect(await post(client, `${sink.url}/hook`, path)).toMatchObject({ kind: "response", url: sink.url + path });
    expect(sink.requests[0]).toMatchObject({ path, headers: { host: `127.0.0.1:${sink.port}` } });
  });

  it("is not sent when that is no path", async () => {
    const { sink, client } = await open();
    for (const path of ["", "x", "/a b", "/a\r\nX: 1", "/\u00e4", "http://evil.example/"]) {
      expect(await post(client, sink.url, path)).toMatchObject({ kind: "error" });
    }
    expect(sink.requests).toHaveLength(0);
  });

  it("is redirected from there, and to where it is told", async () => {
    const { sink, client } = await open({
      answer: ({ path }) => (path === "/a/b" ? { redirectTo: "c" } : { status: 200 }),
    });
    const result = await post(client, `${sink.url}/hook`, "/a/b");
    expect(result).toMatchObject({ kind: "response", status: 200, url: `${sink.url}/a/c` });
    expect(sink.requests.map(({ path }) => path)).toEqual(["/a/b", "/a/c"]);
  });
});
