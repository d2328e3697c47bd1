import { createPrivateKey } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { loadSamples } from "../../src/cli/trigger/samples.ts";
import { runTrigger } from "../../src/cli/trigger/run-trigger.ts";
import { createProviderKinds } from "../../src/receive/sources/kinds.ts";
import { PROVIDER_FIXTURES } from "../contract/sources/all.ts";
import { SERVER_PAIR } from "../support/certificates.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** RFC 8410: 32 bytes of a private key. */
const ED25519 = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]),
  format: "der",
  type: "pkcs8",
});
const SMARTSHEET_SECRET = "3qo29mvjou6xt5fujukjtwzhj0";

/** Where the source verifies with the public key of what signs. */
const PRIVATE_KEYS: Readonly<Record<string, string>> = {
  discord: String(ED25519.export({ format: "pem", type: "pkcs8" })),
  sendgrid: SERVER_PAIR.key,
};

interface Tried {
  kind: string;
  secret: string | undefined;
  event: string;
}

let gateway: TestGateway;
const printed: string[] = [];

const samples = await loadSamples();
const sources = Object.values(PROVIDER_FIXTURES)
  .filter(({ settings }, at, all) => all.findIndex((other) => other.settings.source === settings.source) === at)
  .map(({ kind, settings }) => ({
    name: `try-${kind.name}`,
    kind: kind.name,
    secrets: settings.secrets,
    options: settings.options,
  }))
  .filter(({ kind }, at, all) => all.findIndex((other) => other.kind === kind) === at)
  .concat({ name: "try-generic", kind: "generic", secrets: [], options: {} })
  .concat({ name: "try-smartsheet", kind: "smartsheet", secrets: [SMARTSHEET_SECRET], options: {} });

const tried: readonly Tried[] = samples.flatMap(({ kind, events, needsSecret }) => {
  const [secret] = sources.find((source) => source.kind === kind)?.secrets ?? [];
  return Object.keys(events).map((event) => ({
    kind,
    event,
    secret: PRIVATE_KEYS[kind] ?? (needsSecret || secret !== undefined ? secret : undefined),
  }));
});

beforeAll(async () => {
  gateway = await startTestGateway({ yaml: stringify({ sources }) });
});
afterAll(() => gateway.close());
beforeEach(() => {
  printed.length = 0;
  vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(String(text)) > 0);
});
afterEach(() => vi.restoreAllMocks());

const flagsFor = (more: object) => ({ url: gateway.url, key: ADMIN_KEY, count: "1", ...more });

describe("posthorn trigger", () => {
  it("has a sample for every kind of source that requests come to", () => {
    const kinds = createProviderKinds({ fetchText: () => Promise.reject(new Error("not asked for")) });
    const names = [...kinds.map(({ name }) => name), "generic", "smartsheet"].sort();
    expect(samples.map(({ kind }) => kind)).toEqual(names);
  });

  it.each(tried)("sends what a source takes for real: $kind $event", async ({ kind, event, secret }) => {
    await runTrigger(kind, event, flagsFor({ ...(secret !== undefined && { secret }), json: true }));
    expect(JSON.parse(printed.join(""))).toMatchObject({ source: `try-${kind}`, accepted: 1 });
    const { json } = await gateway.get(`/api/v1/events?source=try-${kind}`);
    expect(json).toMatchObject({ data: expect.arrayContaining([expect.objectContaining({ source: `try-${kind}` })]) });
  });

  it.each(tried.filter(({ kind, secret }) => secret !== undefined && PRIVATE_KEYS[kind] === undefined))(
    "is refused with another secret: $kind $event",
    async ({ kind, event, secret = "" }) => {
      const other = kind === "standard-webhooks" ? "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" : `x${secret.slice(1)}x`;
      const run = runTrigger(kind, event, flagsFor({ secret: other }));
      await expect(run).rejects.toThrow(/answered 401: .*\(bad_signature\).* Check the secret\./);
    },
  );

  it.each(["aws-sns", "paypal"])("says what to do where only the provider can sign: %s", async (kind) => {
    await expect(runTrigger(kind, "any", flagsFor({}))).rejects.toThrow(/cannot be created here\. .* instead/);
  });

  it("asks for what it cannot know: the secret, the source, the event", async () => {
    await expect(runTrigger("github", "push", flagsFor({}))).rejects.toThrow("try-github (github) with --secret");
    await expect(runTrigger("github", "psuh", flagsFor({ secret: "x" }))).rejects.toThrow("did you mean push?");
    await expect(runTrigger("githup", "push", flagsFor({ secret: "x" }))).rejects.toThrow("did you mean github?");
    await expect(runTrigger("github", "push", flagsFor({ secret: "x", to: "try-slack" }))).rejects.toThrow(
      "The source try-slack is of the kind slack, not github.",
    );
    const second = { name: "second-github", kind: "github", secrets: ["another secret 1234"] };
    expect((await gateway.post("/api/v1/sources", second)).status).toBe(201);
    await expect(runTrigger("github", "push", flagsFor({ secret: "x" }))).rejects.toThrow(
      "2 sources are of the kind github: second-github, try-github. Name one with --to.",
    );
    await gateway.request("DELETE", "/api/v1/sources/second-github");
  });

  it("sends as many as are wanted, and lists what there is", async () => {
    const secret = "It's a Secret to Everybody";
    await runTrigger("github", "ping", flagsFor({ secret, count: "3", json: true }));
    expect(JSON.parse(printed.join(""))).toMatchObject({ accepted: 3 });
    printed.length = 0;
    await runTrigger(undefined, undefined, flagsFor({}));
    expect(printed.join("")).toMatch(/^github +ping, push, pull_request\.opened, issues\.opened$/m);
  });
});
