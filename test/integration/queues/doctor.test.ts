import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkBrokers } from "../../../src/cli/doctor/check-sources.ts";
import { createFindings } from "../../../src/cli/doctor/findings.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { useAzurite, useRabbitMq } from "../../support/services/shared.ts";

const folder = mkdtempSync(join(tmpdir(), "posthorn-doctor-brokers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function examine(env: Record<string, string>): Promise<string[]> {
  const findings = createFindings();
  await checkBrokers(loadConfig({ cwd: folder, env }).config, findings.about("brokers"));
  return findings.list.map(({ result, detail }) => `${result} ${detail}`);
}

describe("the doctor and brokers that are there", () => {
  it("finds RabbitMQ, and a password that is wrong without saying it", async (context) => {
    const url = await useRabbitMq(context);
    expect(await examine({ POSTHORN_AMQP_URL: url })).toEqual(["ok amqp default answers"]);
    const wrong = new URL(url);
    wrong.password = "not-the-password";
    const [found] = await examine({ POSTHORN_AMQP_URL: wrong.href });
    expect(found).toMatch(/^problem amqp default: /);
    expect(found).not.toContain("not-the-password");
  });

  it("finds Azure Storage", async (context) => {
    const text = await useAzurite(context);
    expect(await examine({ AZURE_STORAGE_CONNECTION_STRING: text })).toEqual([
      "ok azure-storage-queue default answers",
    ]);
  });
});
