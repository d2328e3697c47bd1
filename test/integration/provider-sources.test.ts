import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { ArrivedRequest } from "../../src/sources/source-kind.ts";
import type { SourceFixture } from "../contract/source-fixture.ts";
import { PROVIDER_FIXTURES } from "../contract/sources/all.ts";
import { until } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Reply {
  status: number;
  text: string;
}

/** One of each kind; the others sign in another way for the same one. */
const fixtures = Object.entries(PROVIDER_FIXTURES).filter(
  ([, { settings }], at, all) => all.findIndex(([, other]) => other.settings.source === settings.source) === at,
);
const identified = fixtures.filter(([, { expected }]) => expected.identity !== undefined);
const verifying = fixtures.filter(([, { kind }]) => kind.verify !== undefined);

const YAML = stringify({
  public_url: "https://hooks.example.com",
  sources: fixtures.map(([, { kind, settings }]) => ({
    name: settings.source,
    kind: kind.name,
    secrets: settings.secrets,
    options: settings.options,
  })),
});

describe("a provider that points at the gateway", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    // With the certificates of the fixtures, where a kind fetches some.
    gateway = await startTestGateway({ yaml: YAML, sourceKinds: fixtures.map(([, { kind }]) => kind) });
  });
  afterAll(() => gateway.close());

  const eventsOf = async ({ settings }: SourceFixture) => {
    const { json } = await gateway.get(`/api/v1/events?source=${settings.source}`);
    return (json as unknown as { data: { event_type: string }[] }).data;
  };

  it.each(fixtures)("is believed, and its event is kept under its type: %s", async (_name, fixture) => {
    const reply = await post(gateway, fixture.sign(Date.now()));
    expect([reply.status >= 200 && reply.status < 300, reply.text]).toEqual([true, reply.text]);
    expect((await eventsOf(fixture)).map(({ event_type: type }) => type)).toContain(fixture.expected.type);
  });

  it.each(identified)(
    "is told that all is well when it repeats itself, and nothing is made of it: %s",
    async (_name, fixture) => {
      await post(gateway, fixture.sign(Date.now()));
      const before = await eventsOf(fixture);
      const again = await post(gateway, fixture.sign(Date.now()));
      expect(again.status).toBeLessThan(300);
      expect(await eventsOf(fixture)).toEqual(before);
    },
  );

  it.each(verifying)("is not believed without a signature, and that is logged: %s", async (_name, fixture) => {
    const { settings } = fixture;
    const signed = fixture.sign(Date.now());
    const { "content-type": type = "application/json" } = signed.headers;
    const before = await eventsOf(fixture);
    const reply = await post(gateway, {
      ...signed,
      query: "",
      headers: { "content-type": type },
      body: Buffer.from("{}"),
    });
    expect([reply.status, reply.text]).toEqual([401, expect.stringContaining('"bad_signature"')]);
    await until(async () => (await gateway.rejected(settings.source)).some(({ cause }) => cause === "bad_signature"));
    expect(await eventsOf(fixture)).toEqual(before);
  });
});

/** Byte for byte as the fixture has it, to the path that it names. */
function post(gateway: TestGateway, { method, path, query, headers, body }: ArrivedRequest): Promise<Reply> {
  const target = query === "" ? path : `${path}?${query}`;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: "127.0.0.1", port: gateway.port, method, path: target, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
