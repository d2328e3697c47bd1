import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listConnections } from "../../../src/config/connections.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { showConfig } from "../../../src/config/show.ts";
import { PosthornError } from "../../../src/model/errors.ts";

const BUS = "Endpoint=sb://example.servicebus.windows.net/;SharedAccessKeyName=R;SharedAccessKey=s3cret";
const STORAGE = "DefaultEndpointsProtocol=https;AccountName=example;AccountKey=s3cret;EndpointSuffix=core.windows.net";

function load(yaml: string, env: Record<string, string> = {}, files: Record<string, string> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "posthorn-connections-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, "posthorn.yaml"), yaml);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return loadConfig({ env, cwd });
}

function problemsOf(yaml: string, env: Record<string, string> = {}): string {
  try {
    load(yaml, env);
    return "";
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return error.message;
  }
}

describe("connections", () => {
  it("come from the yaml and, as default, from the environment, which comes first", () => {
    const yaml = `connections:
  - { name: default, kind: amqp, url: "amqp://file:s3cret@localhost" }
  - { name: erp, kind: amqp, url: "amqps://erp:s3cret@erp:5671/bus" }
  - { name: cloud, kind: azure-service-bus, namespace: example.servicebus.windows.net }
  - { name: cloud, kind: azure-storage-queue, account_url: "https://example.queue.core.windows.net" }
`;
    const { config } = load(yaml, { POSTHORN_AMQP_URL: "amqp://env:s3cret@localhost" });
    expect(listConnections(config)).toEqual([
      { name: "default", kind: "amqp", url: "amqp://env:s3cret@localhost" },
      { name: "erp", kind: "amqp", url: "amqps://erp:s3cret@erp:5671/bus" },
      { name: "cloud", kind: "azure-service-bus", namespace: "example.servicebus.windows.net" },
      { name: "cloud", kind: "azure-storage-queue", account_url: "https://example.queue.core.windows.net" },
    ]);
    expect(listConnections(load(yaml).config)[0]).toMatchObject({ url: "amqp://file:s3cret@localhost" });
    expect(listConnections(load("").config)).toEqual([]);
  });

  it("may be given in files that hold the secret", () => {
    const names = ["POSTHORN_AMQP_URL", "AZURE_SERVICEBUS_CONNECTION_STRING", "AZURE_STORAGE_CONNECTION_STRING"];
    const env = Object.fromEntries(names.map((name) => [`${name}_FILE`, `${name}.txt`]));
    const texts = ["amqp://a:s3cret@localhost", BUS, STORAGE];
    const files = Object.fromEntries(names.map((name, at) => [`${name}.txt`, `${texts[at]}\n`]));
    expect(listConnections(load("", env, files).config)).toEqual([
      { name: "default", kind: "amqp", url: texts[0] },
      { name: "default", kind: "azure-service-bus", connection_string: BUS },
      { name: "default", kind: "azure-storage-queue", connection_string: STORAGE },
    ]);
  });

  it("are shown without what opens them", () => {
    const yaml = `connections:
  - { name: erp, kind: amqp, url: "amqps://erp:s3cret@erp:5671/bus" }
  - { name: bus, kind: azure-service-bus, connection_string: "${BUS}" }
`;
    const env = {
      POSTHORN_AMQP_URL: "amqp://env:s3cret@localhost",
      AZURE_STORAGE_CONNECTION_STRING: STORAGE,
      POSTHORN_MESSAGE_KEY: "s3cret".repeat(6),
    };
    const { config, origins } = load(yaml, env);
    for (const json of [false, true]) {
      const shown = showConfig(config, origins, { json });
      expect(shown).not.toContain("s3cret");
      expect(shown).toContain("erp");
      expect(shown).toContain("set (sha256:");
    }
  });

  it.each([
    ["- { name: a, kind: amqp }", "connections[0].url: set url"],
    ["- { name: a, kind: kafka, url: x }", "connections[0].kind: expected"],
    ["- { name: a b, kind: amqp, url: x }", "connections[0].name: expected"],
    ['- { name: a, kind: amqp, url: "http://u:s3cret@h" }', "connections[0].url: is not a RabbitMQ URL"],
    ["- { name: a, kind: amqp, namespace: n }", "connections[0].namespace: cannot be used with amqp; set url"],
    [
      `- { name: a, kind: azure-service-bus, namespace: n, connection_string: "${BUS}" }`,
      "connections[0].namespace: cannot be set together with connection_string; set only one of them",
    ],
    [
      `- { name: a, kind: azure-service-bus, connection_string: "${STORAGE}" }`,
      "connections[0].connection_string: is not a connection string of Azure Service Bus",
    ],
    [
      `- { name: a, kind: azure-storage-queue, connection_string: "${BUS}" }`,
      "connections[0].connection_string: is not a connection string of Azure Storage",
    ],
    [
      '- { name: a, kind: azure-storage-queue, account_url: "http://n.queue.core.windows.net" }',
      "connections[0].account_url: is not the URL of a storage account",
    ],
    [
      '- { name: a, kind: amqp, url: "amqp://h" }\n  - { name: a, kind: amqp, url: "amqp://h" }',
      "connections[1].name: connections[0] has the same name; names are unique per kind",
    ],
  ])("are rejected with their place, and no secret is repeated: %s", (item, expected) => {
    const message = problemsOf(`connections:\n  ${item}\n`);
    expect(message).toContain(expected);
    expect(message).toContain("posthorn.yaml:");
    expect(message).not.toContain("s3cret");
  });

  it("are rejected by the name of the variable that gives them", () => {
    const env = { POSTHORN_AMQP_URL: "amq://u:s3cret@h", AZURE_SERVICEBUS_CONNECTION_STRING: STORAGE };
    const message = problemsOf("", env);
    expect(message).toContain("POSTHORN_AMQP_URL: is not a RabbitMQ URL");
    expect(message).toContain("AZURE_SERVICEBUS_CONNECTION_STRING: is not a connection string of Azure Service Bus");
    expect(message).not.toContain("s3cret");
  });

  it("may have one name for several kinds", () => {
    const yaml = `connections:
  - { name: a, kind: amqp, url: "amqp://h" }
  - { name: a, kind: azure-service-bus, namespace: n }
`;
    expect(problemsOf(yaml)).toBe("");
  });
});
