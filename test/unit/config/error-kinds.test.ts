import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkFiles } from "../../../src/config/check-files.ts";
import { loadConfig, locateDeclared } from "../../../src/config/load.ts";
import { ERRORS, findFault, PosthornError } from "../../../src/model/errors.ts";
import { EXPIRED_PAIR, SERVER_PAIR } from "../../support/certificates.ts";

const cwd = mkdtempSync(join(tmpdir(), "posthorn-errors-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** What a start says, which must end with 3. */
function refuse(yaml: string, env = {}, file?: string): string {
  writeFileSync(join(cwd, "posthorn.yaml"), yaml);
  const fault = findFault(() => checkFiles(loadConfig({ cwd, env, file })));
  expect(fault === undefined ? 3 : ERRORS[fault.code].exitCode).toBe(3);
  return fault?.message ?? "none";
}

const SUBSCRIPTION = `name: a, url: "https://e.example/x", events: ["#"]`;

describe("an error of the configuration", () => {
  it.each([
    ["what is no yaml", "port: [1\n", /posthorn\.yaml:2:1: /],
    ["a key twice", "port: 1\nport: 2", /posthorn\.yaml:2:1: Map keys must be unique/],
    ["an unknown key", "prot: 1", /posthorn\.yaml:1:1 prot: unknown key; did you mean port\?/],
    ["a wrong type", "port: many", /posthorn\.yaml:1:7 port: expected a whole number/],
    [
      "an unknown kind of destination",
      `subscriptions:\n  - { ${SUBSCRIPTION}, kind: nosuch }`,
      /yaml:2:\d+ .*kind: .*nosuch/,
    ],
    [
      "an unknown retry policy",
      `subscriptions:\n  - { ${SUBSCRIPTION}, retry_policy: nosuch }`,
      /yaml:2:\d+ .*retry_policy/,
    ],
    [
      "a target that is not there",
      `subscriptions:\n  - { ${SUBSCRIPTION}, target: erp }`,
      /yaml:2:\d+ .*target: "erp"/,
    ],
    ["a name twice", "sources:\n  - { name: a }\n  - { name: a }", /posthorn\.yaml:3:\d+ sources\[1\]\.name/],
    ["a wrong public URL", "public_url: hooks", /posthorn\.yaml:1:\d+ public_url: .*is not a URL/],
    ["a folder of event types that is not there", "event_types_dir: missing", /missing: cannot be read \(ENOENT\)/],
  ])("names the file and the line of %s", (_, yaml, expected) => {
    expect(refuse(yaml)).toMatch(expected);
  });

  it("names the file that is missing, and the variable that is wrong", () => {
    expect(refuse("", {}, "missing.yaml")).toContain("missing.yaml: cannot be read (ENOENT)");
    expect(refuse("", { POSTHORN_PORT: "many" })).toContain("POSTHORN_PORT: expected a whole number");
  });

  it("names an empty variable, once, and tells it from one that is not set", () => {
    const yaml = 'sources:\n  - name: orders\n    auth: { header: X-Token, token: "${ORDERS_TOKEN}" }\n';
    const place = "posthorn.yaml:3:37 sources[0].auth.token";
    const advice = "set it, or give a default with ${ORDERS_TOKEN:-default}";
    const told = (state: string) =>
      `The configuration is not valid: ${place}: variable ORDERS_TOKEN ${state}; ${advice}`;
    expect(refuse(yaml, { ORDERS_TOKEN: "" })).toBe(told("is empty"));
    expect(refuse(yaml)).toBe(told("is not set"));
    expect(refuse(yaml, { ORDERS_TOKEN: "t".repeat(48) })).toBe("none");
  });

  it("names the TLS file that cannot be read, is something else, or does not belong to the other", () => {
    const write = (name: string, text: string) => {
      writeFileSync(join(cwd, name), text);
      return name;
    };
    const cert = write("cert.pem", SERVER_PAIR.cert);
    const key = write("key.pem", SERVER_PAIR.key);
    const yaml = (certFile: string, keyFile: string) => `tls_cert: ${certFile}\ntls_key: ${keyFile}\n`;
    expect(refuse(yaml(cert, key))).toBe("none");
    expect(refuse(yaml("gone.pem", key))).toMatch(/posthorn\.yaml:1:11 tls_cert: cannot read \S+gone\.pem \(ENOENT\)/);
    expect(refuse(yaml(write("text.pem", "hello"), key))).toMatch(
      /posthorn\.yaml:1:11 tls_cert: .*does not contain a certificate/,
    );
    expect(refuse(yaml(cert, "text.pem"))).toMatch(/posthorn\.yaml:2:10 tls_key: .*does not contain a private key/);
    const other = write("other.pem", EXPIRED_PAIR.key);
    expect(refuse(yaml(cert, other))).toMatch(/posthorn\.yaml:2:10 tls_key: .*does not belong/);
    const env = { POSTHORN_TLS_CERT: "gone.pem", POSTHORN_TLS_KEY: key };
    expect(refuse("", env)).toContain("POSTHORN_TLS_CERT: cannot read");
  });
});

describe("what only the gateway can say of something that is declared", () => {
  const fault = (noun: string, name: string, field: string | undefined, message: string) =>
    new PosthornError("config_invalid", `The declared ${noun} ${name} is not valid: ${message}`, {
      details: { declared: { noun, name, field, message } },
    });
  const yaml = `subscriptions:\n  - { name: first, url: "https://e.example", events: ["#"] }\n  - { ${SUBSCRIPTION} }\n`;
  const locate = (error: unknown) => {
    writeFileSync(join(cwd, "posthorn.yaml"), yaml);
    return (locateDeclared(error, loadConfig({ cwd, env: {} })) as Error).message;
  };

  it("gets the file and the line", () => {
    expect(locate(fault("subscription", "a", "url", "url: it is not https."))).toBe(
      "The configuration is not valid: posthorn.yaml:3:21 subscriptions[1].url (a): it is not https.",
    );
    expect(locate(fault("subscription", "a", undefined, "It is one too many."))).toContain(
      "posthorn.yaml:3:5 subscriptions[1] (a): It is one too many.",
    );
  });

  it("stays as it is where the file does not declare it, or it is about something else", () => {
    expect(locate(fault("event type", "b.c", "versions", "no"))).toContain("The declared event type b.c");
    expect(locate(new Error("something else"))).toBe("something else");
  });
});
