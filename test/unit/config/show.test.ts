import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { showConfig } from "../../../src/config/show.ts";

const CANARIES = [
  "canary-admin-key-0123456789",
  "canary-master-key-0123456789abcdef",
  "canaryheader",
  "canaryquery",
  "canaryproxy",
  "canarypassword",
  "canarysourcesecret",
  "canarysourcetoken",
  "canary-path-token-of-a-source",
  "canaryoption",
];
const SECRET = `whsec_${Buffer.from("canary".repeat(5)).toString("base64")}`;
const YAML = `
port: 9000
sources:
  - name: orders
    secrets: [canarysourcesecret]
    auth: { header: X-Token, token: canarysourcetoken }
    path_token: canary-path-token-of-a-source
    options: { verify_token: canaryoption, strict: true }
subscriptions:
  - name: shop
    url: https://a.example/x?key=canaryquery
    events: ["#"]
    secret: ${SECRET}
    headers: { X-Api-Key: canaryheader }
    auth: { type: basic, username: someone, password: canarypassword }
`;
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "posthorn-show-"));
  writeFileSync(join(cwd, "posthorn.yaml"), YAML);
});
afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

function show(json: boolean): string {
  const env = {
    POSTHORN_ADMIN_KEY: CANARIES[0],
    POSTHORN_MASTER_KEY: CANARIES[1],
    POSTHORN_EGRESS_PROXY: "http://user:canaryproxy@proxy.internal:3128",
  };
  const { config, origins } = loadConfig({ env, flags: { host: "0.0.0.0" }, cwd });
  return showConfig(config, origins, { json });
}

describe("config show", () => {
  it("prints every value with where it came from", () => {
    const lines = show(false).split("\n");
    const line = (name: string) => lines.find((text) => text.startsWith(`${name} `))?.replace(/ +/g, " ");
    expect(line("port")).toBe("port 9000 (file posthorn.yaml:2:7)");
    expect(line("host")).toBe("host 0.0.0.0 (flag --host)");
    expect(line("admin_key")).toMatch(/^admin_key set \(sha256:[0-9a-f]{8}…\) \(env POSTHORN_ADMIN_KEY\)$/);
    expect(line("log_file")).toBe("log_file not set (default)");
    expect(line("trusted_proxies")).toBe("trusted_proxies none (default)");
    expect(line("limits.max_depth")).toBe("limits.max_depth 128 (default)");
    expect(lines).toContain("event_types: none  (default)");
    expect(lines.at(-1)).toMatch(/^ {2}shop {2}url=https:\/\/a\.example\/x\?key=\*\*\* .*secret=set \(sha256:/);
  });

  it("gives the same as JSON", () => {
    const shown = JSON.parse(show(true)) as Record<string, Record<string, unknown>>;
    expect(shown["settings"]?.["port"]).toEqual({ value: 9000, from: "file", place: "posthorn.yaml:2:7" });
    expect(shown["settings"]?.["log_file"]).toEqual({ value: null, from: "default" });
    expect(shown["subscriptions"]).toMatchObject([{ name: "shop", events: ["#"] }]);
  });

  it("shows who logs in, but not with what", () => {
    expect(JSON.parse(show(true))).toMatchObject({
      settings: { egress_proxy: { value: expect.stringMatching(/^set \(sha256:/) } },
      subscriptions: [{ auth: { type: "basic", username: "someone", password: "***" } }],
    });
  });

  it.each([false, true])("never shows a secret (json: %s)", (json) => {
    const shown = show(json);
    for (const canary of [...CANARIES, SECRET, SECRET.slice(6)]) expect(shown).not.toContain(canary);
  });
});
