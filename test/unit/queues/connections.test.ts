import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createConnections, type ConnectionsOptions } from "../../../src/queues/connections.ts";
import { loadOptional } from "../../../src/queues/azure.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

function create(onState?: ConnectionsOptions["onState"]) {
  return createConnections({
    onState,
    connections: [
      { name: "default", kind: "amqp", url: "amqp://guest:guest@127.0.0.1:1/" },
      { name: "other", kind: "amqp", url: "amqp://guest:guest@127.0.0.1:1/other" },
      { name: "default", kind: "azure-service-bus", namespace: "example.servicebus.windows.net" },
      { name: "default", kind: "azure-storage-queue", account_url: "https://example.queue.core.windows.net" },
    ],
    label: "test",
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
}

describe("the connections of a process", () => {
  it("are one for each kind and name, for all callers", async () => {
    const connections = create();
    const one = connections.find("amqp", "default");
    expect(one).toBeDefined();
    expect(connections.find("amqp", "default")).toBe(one);
    expect(connections.find("amqp", "other")).not.toBe(one);
    expect(connections.find("amqp", "missing")).toBeUndefined();
    expect(connections.find("azure-storage-queue", "default")).toBeDefined();
    expect(connections.findAccount("default")).toEqual({ accountUrl: "https://example.queue.core.windows.net" });
    await connections.close();
  });

  it("are not opened before they are used, and each tells how it is", async () => {
    const told: string[] = [];
    const connections = create(({ kind, name, state }) => told.push(`${kind} ${name} ${state.state}`));
    expect(connections.list()).toHaveLength(4);
    expect(connections.list().every(({ state }) => state.state === "unused")).toBe(true);
    await expect(connections.find("amqp", "default")?.depth("q")).rejects.toMatchObject({ kind: "unreachable" });
    const states = connections.list().map(({ state }) => state.state);
    expect(states).toEqual(["failed", "unused", "unused", "unused"]);
    expect(told).toEqual(["amqp default connecting", "amqp default failed"]);
    await connections.close();
  });
});

describe("a package that only some users install", () => {
  // shows: Q69
  it("is named with its version when it is missing", async () => {
    const missing = loadOptional("@azure/service-bus", () => Promise.reject(new Error("Cannot find package")));
    await expect(missing).rejects.toMatchObject({
      kind: "missing_package",
      message:
        'The package "@azure/service-bus" is not installed. Run `npm install @azure/service-bus@7.9.5` beside Posthorn.',
    });
  });

  it("is advised in the version that the tests run with", async () => {
    const { devDependencies } = JSON.parse(readFileSync(`${PROJECT_ROOT}/test/package.json`, "utf8")) as {
      devDependencies: Record<string, string>;
    };
    for (const name of [
      "@azure/service-bus",
      "@azure/storage-queue",
      "@azure/storage-blob",
      "@azure/identity",
    ] as const) {
      const missing = loadOptional(name, () => Promise.reject(new Error("Cannot find package")));
      await expect(missing).rejects.toThrow(`${name}@${devDependencies[name]}`);
    }
  });
});

describe("an identity that DefaultAzureCredential is to find", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("is asked for in one line where there is none, at both brokers of Azure", async () => {
    // It looks nowhere else, and so not on the network.
    vi.stubEnv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential");
    const connections = create();
    for (const kind of ["azure-storage-queue", "azure-service-bus"] as const) {
      await expect(connections.find(kind, "default")?.depth("q")).rejects.toMatchObject({
        kind: "wrong_credentials",
        message: expect.stringMatching(
          /^No identity was found for Azure [^\n]* at example\.[^\n]*connection_string\.$/,
        ) as string,
      });
    }
    await connections.close();
  });
});
