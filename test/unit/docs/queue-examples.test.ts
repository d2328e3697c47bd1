import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { useFolder } from "../../support/store-folder.ts";

const ENV = {
  RABBITMQ_URL: "amqp://guest:guest@127.0.0.1:5672/",
  AZURE_STORAGE_CONNECTION_STRING: "DefaultEndpointsProtocol=https;AccountName=example;AccountKey=ZXhhbXBsZQ==",
};

/** With the page and where it stands there. */
const EXAMPLES = ["queues.md", "queue-destinations.md"].flatMap((page) => {
  const text = readFileSync(join(PROJECT_ROOT, "docs/reference", page), "utf8");
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = ""], index) => [page, index + 1, yaml] as const);
});

describe("the examples in the docs of queues", () => {
  const folder = useFolder();

  it.each(EXAMPLES)("%s, number %i, is a valid configuration", (_page, _number, yaml) => {
    const file = join(folder.path, "posthorn.yaml");
    writeFileSync(file, yaml);
    const { config } = loadConfig({ env: ENV, cwd: folder.path, file });
    expect(config.sources.length + config.subscriptions.length).toBeGreaterThan(0);
  });
});
