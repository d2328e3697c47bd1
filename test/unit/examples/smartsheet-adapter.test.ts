import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const load = (env: Record<string, string> = {}) =>
  loadConfig({
    file: join(PROJECT_ROOT, "examples/smartsheet-adapter/posthorn.yaml"),
    env: { CORE_FUNCTIONS_BASE_URL: "https://core.example.com", ...env },
    cwd: "/",
  });

describe("the example for Smartsheet", () => {
  // shows: A35
  it("loads as it is, and speaks to Smartsheet's interface in Europe", () => {
    const { config, warnings } = load();
    expect(warnings).toEqual([]);
    expect(config).toHaveProperty("smartsheetApiHost", "https://api.smartsheet.eu/2.0/");
  });

  it("speaks to another where the environment says so", () => {
    const host = "https://api.smartsheet.com/2.0/";
    expect(load({ SMARTSHEET_API_HOST: host }).config).toHaveProperty("smartsheetApiHost", host);
  });

  it("asks for the health of the core app, so that an outage spends no tries", () => {
    expect(load().config.subscriptions).toMatchObject([
      {
        url: "https://core.example.com/api/events",
        health_url: "https://core.example.com/api/health",
        ordered: true,
        retry_policy: "bursts",
      },
    ]);
  });
});
