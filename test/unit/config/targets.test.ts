import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { showConfig } from "../../../src/config/show.ts";
import { PosthornError } from "../../../src/model/errors.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "posthorn-targets-"));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

function load(yaml: string) {
  writeFileSync(join(cwd, "posthorn.yaml"), yaml);
  return loadConfig({ env: {}, cwd });
}

function problemsOf(yaml: string): string[] {
  try {
    load(yaml);
    return [];
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return error.details?.["problems"] as string[];
  }
}

const subscription = (target: string, tenant = "default") =>
  `subscriptions: [{ name: a, url: "https://a.example/", events: ["*"], target: ${target}, tenant_id: ${tenant} }]`;

describe("targets of posthorn.yaml", () => {
  it("are shown without what their URLs may hide", () => {
    const { config, origins } = load(`
targets:
  - { name: home, health_url: "https://h.example/up?token=hidden-4711", batch_size: 4 }
${subscription("home")}`);
    expect(config.targets).toMatchObject([{ name: "home", batch_size: 4 }]);
    const shown = showConfig(config, origins, { json: false });
    expect(shown).toMatch(/^targets: 1 .*\n {2}home .*batch_size=4/m);
    expect(shown).not.toContain("hidden-4711");
  });

  it.each([
    ["targets: [{ name: Home }]", "targets[0].name"],
    ["targets: [{ name: n8n }]", "targets[0].name"],
    ["targets: [{ name: home, batch_size: 33 }]", "targets[0].batch_size"],
    ["targets: [{ name: home, failures_to_open: 0 }]", "targets[0].failures_to_open"],
    ["targets: [{ name: home, preset: n9n }]", "targets[0].preset"],
    ["targets: [{ name: home, preset: n8n }]", "targets[0].preset"],
    ["targets: [{ name: home, helth_url: x }]", "targets[0].helth_url"],
    ["targets: [{ name: home }, { name: home }]", "targets[1].name"],
    [subscription("home"), "subscriptions[0].target"],
    [`targets: [{ name: home, tenant_id: other }]\n${subscription("home")}`, "subscriptions[0].target"],
  ])("are rejected with their place: %s", (yaml, place) => {
    const problems = problemsOf(yaml);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(place);
  });

  it("may have the same name in two tenants, and a preset needs none", () => {
    expect(problemsOf("targets: [{ name: home }, { name: home, tenant_id: other }]")).toEqual([]);
    expect(problemsOf(subscription("n8n"))).toEqual([]);
    expect(problemsOf(`targets: [{ name: home, tenant_id: other }]\n${subscription("home", "other")}`)).toEqual([]);
  });
});
