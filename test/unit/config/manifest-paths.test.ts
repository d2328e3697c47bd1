import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { readManifest } from "../../../plugins/smartsheet/manifests.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/smartsheet-adapter/", import.meta.url));

describe("the manifest of a declared source", () => {
  it("lies beside the configuration file, wherever the gateway is started from", () => {
    const env = { CORE_FUNCTIONS_BASE_URL: "https://core.example.com" };
    const { config, warnings } = loadConfig({ file: `${EXAMPLE}posthorn.yaml`, env, cwd: "/" });
    expect(warnings).toEqual([]);
    expect(config.sources[0]?.manifest).toBe(`${EXAMPLE}workspace_manifest.json`);
    expect(config.subscriptions[0]?.["url"]).toBe("https://core.example.com/api/events");
    const manifest = JSON.parse(readFileSync(`${EXAMPLE}workspace_manifest.json`, "utf8")) as unknown;
    expect([...readManifest(manifest).values()]).toEqual(["Purchase orders", "Tags"]);
  });
});
