import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { showConfig } from "../../../src/config/show.ts";

const WHOLE = {
  POSTHORN_OIDC_ISSUER: "https://login.example.com",
  POSTHORN_OIDC_CLIENT_ID: "posthorn",
  POSTHORN_OIDC_CLIENT_SECRET: "very-secret",
  POSTHORN_OIDC_GROUPS: "ops=admin, support=read",
};

function load(change: Readonly<Record<string, string | undefined>> = {}) {
  return loadConfig({ env: { ...WHOLE, ...change }, cwd: join(tmpdir(), "without-a-file") });
}

describe("the settings of the sign-in with OpenID Connect", () => {
  it("are read from the environment, and the secret is not shown", () => {
    const { config, origins } = load();
    expect(config.oidc).toMatchObject({
      issuer: "https://login.example.com",
      groups: ["ops=admin", "support=read"],
      groupsClaim: "groups",
      scopes: ["openid", "profile", "email"],
      sessionHours: 12,
      allowHttp: false,
    });
    expect(showConfig(config, origins, { json: false })).not.toContain("very-secret");
  });

  it("take plain http on this machine only, or when it is allowed", () => {
    for (const issuer of ["http://localhost:9000", "http://127.0.0.1:9000/realm", "http://[::1]:9000"]) {
      expect(load({ POSTHORN_OIDC_ISSUER: issuer }).config.oidc.issuer).toBe(issuer);
    }
    const plain = { POSTHORN_OIDC_ISSUER: "http://login.example.com" };
    expect(() => load(plain)).toThrow(/POSTHORN_OIDC_ISSUER: must begin with https/);
    expect(load({ ...plain, POSTHORN_OIDC_ALLOW_HTTP: "true" }).config.oidc.allowHttp).toBe(true);
  });

  it.each([
    [{ POSTHORN_OIDC_CLIENT_SECRET: undefined }, /also needs oidc\.client_secret/],
    [
      { POSTHORN_OIDC_ISSUER: undefined, POSTHORN_OIDC_CLIENT_ID: undefined },
      /also needs oidc\.issuer and oidc\.client_id/,
    ],
    [{ POSTHORN_OIDC_GROUPS: undefined }, /also needs oidc\.groups, because nobody could sign in/],
    [{ POSTHORN_OIDC_GROUPS: "ops" }, /"ops" is not a rule for a group/],
    [{ POSTHORN_OIDC_ISSUER: "login.example.com" }, /is not a URL/],
    [{ POSTHORN_OIDC_ISSUER: "ftp://login.example.com" }, /is not a URL/],
    [{ POSTHORN_OIDC_ISSUER: "https://user:pass@login.example.com" }, /must not have a user/],
    [{ POSTHORN_OIDC_SCOPES: "profile" }, /must contain openid/],
    [{ POSTHORN_OIDC_SESSION_HOURS: "0" }, /oidc\.session_hours|OIDC_SESSION_HOURS/],
  ])("are rejected with %j", (change, message) => {
    expect(() => load(change)).toThrow(message);
  });
});
