import { createPrivateKey } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadSamples } from "../../src/cli/trigger.ts";
import { createProviderKinds } from "../../src/sources/kinds.ts";
import { PROVIDER_FIXTURES } from "../contract/sources/all.ts";
import { SERVER_PAIR } from "../support/certificates.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

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
let cli: CommandLine;

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
  cli = await openCommandLine(gateway);
});
afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

async function trigger(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli.run(["trigger", ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

/** What it says when it cannot. */
async function triggerInVain(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli.run(["trigger", ...args]);
  expect(exitCode).toBeGreaterThan(0);
  expect(stdout).toBe("");
  return stderr;
}

describe("posthorn trigger", () => {
  it("has a sample for every kind of source that requests come to", () => {
    const kinds = createProviderKinds({ fetchText: () => Promise.reject(new Error("not asked for")) });
    const names = [...kinds.map(({ name }) => name), "generic", "smartsheet"].sort();
    expect(samples.map(({ kind }) => kind)).toEqual(names);
  });

  it.each(tried)("sends what a source takes for real: $kind $event", async ({ kind, event, secret }) => {
    const signed = secret === undefined ? [] : ["--secret", secret];
    expect(JSON.parse(await trigger(kind, event, ...signed, "--json"))).toMatchObject({
      source: `try-${kind}`,
      accepted: 1,
    });
    const { json } = await gateway.get(`/api/v1/events?source=try-${kind}`);
    expect(json).toMatchObject({ data: expect.arrayContaining([expect.objectContaining({ source: `try-${kind}` })]) });
  });

  it.each(tried.filter(({ kind, secret }) => secret !== undefined && PRIVATE_KEYS[kind] === undefined))(
    "is rejected with another secret: $kind $event",
    async ({ kind, event, secret = "" }) => {
      const other = kind === "standard-webhooks" ? "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" : `x${secret.slice(1)}x`;
      expect(await triggerInVain(kind, event, "--secret", other)).toMatch(
        /answered 401: .*\(bad_signature\).* Check the secret\./,
      );
    },
  );

  it.each(["aws-sns", "paypal"])("says what to do where only the provider can sign: %s", async (kind) => {
    expect(await triggerInVain(kind, "any")).toMatch(/cannot be created here\. .* instead/);
  });

  it("asks for what it cannot know: the secret, the source, the event", async () => {
    const signed = ["--secret", "x"];
    expect(await triggerInVain("github", "push")).toContain("try-github (github) with --secret");
    expect(await triggerInVain("github", "psuh", ...signed)).toContain("did you mean push?");
    expect(await triggerInVain("githup", "push", ...signed)).toContain("did you mean github?");
    expect(await triggerInVain("github", "push", ...signed, "--to", "try-slack")).toContain(
      "The source try-slack is of the kind slack, not github.",
    );
    const second = { name: "second-github", kind: "github", secrets: ["another secret 1234"] };
    expect((await gateway.post("/api/v1/sources", second)).status).toBe(201);
    expect(await triggerInVain("github", "push", ...signed)).toContain(
      "2 sources are of the kind github: second-github, try-github. Name one with --to.",
    );
    await gateway.request("DELETE", "/api/v1/sources/second-github");
  });

  it("sends as many as are wanted, and lists what there is", async () => {
    const secret = "It's a Secret to Everybody";
    const sent = await trigger("github", "ping", "--secret", secret, "--count", "3", "--json");
    expect(JSON.parse(sent)).toMatchObject({ accepted: 3 });
    expect(await trigger()).toMatch(/^github +ping, push, pull_request\.opened, issues\.opened$/m);
  });
});
