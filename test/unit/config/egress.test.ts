import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { parseEgressProxy } from "../../../src/destinations/wire/proxy-tunnel.ts";
import { PosthornError } from "../../../src/model/errors.ts";

function load(yaml: string, env: Record<string, string> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "posthorn-egress-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, "posthorn.yaml"), yaml);
  return loadConfig({ env, cwd }).config;
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

describe("egress_proxy", () => {
  it("is a host, a port and perhaps credentials", () => {
    const proxy = (text: string) => parseEgressProxy(load("", { POSTHORN_EGRESS_PROXY: text }).egressProxy ?? "");
    expect(proxy("http://proxy.internal:3128")).toEqual({
      host: "proxy.internal",
      port: 3128,
      authorization: undefined,
    });
    expect(proxy("http://u%40:p%3Aw@[::1]")).toMatchObject({ host: "::1", port: 80 });
    expect(load("").egressProxy).toBeUndefined();
  });

  it.each([
    "proxy:3128",
    "https://user:s3cret@proxy:3128",
    "socks5://user:s3cret@proxy",
    "http://user:s3cret@",
    "http://user:s3cret@proxy/path",
    "http://user:s3cret@proxy?x",
    "http://user:s3%zzcret@proxy",
    "http://user:s3%ffcret@proxy",
    "http://us%3aer:s3cret@proxy",
  ])("is rejected without being shown: %s", (text) => {
    const message = problemsOf("", { POSTHORN_EGRESS_PROXY: text });
    expect(message).toContain("POSTHORN_EGRESS_PROXY: ");
    expect(message).not.toMatch(/s3cret|s3%/);
  });

  it("is not what other variables of the environment name", () => {
    const env = { HTTP_PROXY: "http://a:1", HTTPS_PROXY: "http://a:1", ALL_PROXY: "http://a:1" };
    expect(load("", env).egressProxy).toBeUndefined();
  });
});

describe("the limits of connections", () => {
  // shows: C32
  it("are 100 a host and 20 unused ones, and can be set", () => {
    expect(load("").limits).toMatchObject({ connectionsPerHost: 100, idleConnectionsPerHost: 20 });
    const yaml = "limits: { connections_per_host: 5, idle_connections_per_host: 0 }";
    expect(load(yaml).limits).toMatchObject({ connectionsPerHost: 5, idleConnectionsPerHost: 0 });
  });
});

describe("auth of a declared subscription", () => {
  const declare = (auth: string) =>
    `subscriptions: [{ name: a, url: "https://a.example", events: ["#"], auth: ${auth}, allowed_ips: [8.8.8.0/24] }]`;

  it("is read like that of the API", () => {
    const [subscription] = load(declare('{ type: bearer, token: "${TOKEN}" }'), { TOKEN: "t0ken" }).subscriptions;
    expect(subscription).toMatchObject({ auth: { type: "bearer", token: "t0ken" }, allowed_ips: ["8.8.8.0/24"] });
  });

  it.each([
    ["{ type: basic, username: u }", "auth.password: is missing"],
    ["{ type: bearer, token: s3cret, password: s3cret }", "auth.password: does not belong"],
    ["{ type: mtls, cert: s3cret, key: s3cret }", "auth.cert: holds no certificate"],
    ["{ type: bearer, tokne: s3cret }", "auth.tokne: unknown key"],
    ["{ type: s3cret }", "auth.type: expected"],
  ])("is rejected with its place and without its secrets: %s", (auth, problem) => {
    const message = problemsOf(declare(auth));
    expect(message).toContain(`posthorn.yaml:1:`);
    expect(message).toContain(problem);
    expect(message).not.toContain("s3cret");
  });
});
