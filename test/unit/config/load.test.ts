import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig, type LoadInput } from "../../../src/config/load.ts";
import { getDatabasePath } from "../../../src/config/store-url.ts";
import { VERSION } from "../../../src/config/version.ts";
import { PosthornError } from "../../../src/model/errors.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "posthorn-config-"));
});
afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

function load(yaml?: string, env: LoadInput["env"] = {}, flags: LoadInput["flags"] = {}) {
  if (yaml !== undefined) writeFileSync(join(cwd, "posthorn.yaml"), yaml);
  return loadConfig({ env, flags, cwd });
}

function problemsOf(yaml?: string, env: LoadInput["env"] = {}, flags: LoadInput["flags"] = {}): string[] {
  try {
    load(yaml, env, flags);
    return [];
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return error.details?.["problems"] as string[];
  }
}

function catchError(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe("where settings come from", () => {
  // shows: B37
  it("starts with the defaults when nothing is given", () => {
    const { config, warnings, origins } = load();
    expect(config).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      dataDir: join(cwd, "data"),
      storeUrl: "sqlite:",
      allowPrivateDestinations: false,
      anySource: true,
      userAgent: `Posthorn/${VERSION}`,
      sources: [],
      limits: { maxConnections: 10_000, maxBodyBytes: 2_097_152, maxDepth: 128, dedupeHorizonDays: 7 },
    });
    expect(config.adminKey).toBeUndefined();
    expect(getDatabasePath(config)).toBe(join(cwd, "data", "posthorn.db"));
    expect(warnings).toEqual([]);
    expect(origins.get("port")).toEqual({ from: "default", place: undefined });
  });

  it("lets the file beat defaults, the environment beat the file, and flags beat all", () => {
    const yaml = "port: 1\nhost: file\nlog_level: debug\n";
    const { config, origins } = load(yaml, { POSTHORN_PORT: "2", POSTHORN_HOST: "env" }, { port: "3" });
    expect(config).toMatchObject({ port: 3, host: "env", logLevel: "debug", role: "all" });
    expect(origins.get("port")).toEqual({ from: "flag", place: "--port" });
    expect(origins.get("host")).toEqual({ from: "env", place: "POSTHORN_HOST" });
    expect(origins.get("log_level")).toEqual({ from: "file", place: "posthorn.yaml:3:12" });
    expect(origins.get("role")?.from).toBe("default");
  });

  it("reads the file that is named, and does not go on without it", () => {
    writeFileSync(join(cwd, "other.yaml"), "port: 99");
    expect(loadConfig({ file: "other.yaml", env: {}, cwd }).config.port).toBe(99);
    expect(() => loadConfig({ file: "none.yaml", env: {}, cwd })).toThrow(/none\.yaml: cannot be read \(ENOENT\)/);
  });

  // shows: B23
  it("takes VALIDATION_MODE by the name that it has in the specification", () => {
    expect(load().config.validationMode).toBe("permissive");
    expect(load(undefined, { VALIDATION_MODE: "strict" }).config.validationMode).toBe("strict");
    expect(load("validation_mode: strict", { VALIDATION_MODE: "permissive" }).config.validationMode).toBe("permissive");
  });

  it("takes numbers, booleans and lists from the environment, and an empty variable as not set", () => {
    const { config } = load(undefined, {
      POSTHORN_MAX_DEPTH: "12",
      POSTHORN_ANY_SOURCE: "false",
      POSTHORN_TRUSTED_PROXIES: "10.0.0.0/8, fd00::/8",
      POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "192.168.0.0/16",
      POSTHORN_PORT: "",
    });
    expect(config.limits.maxDepth).toBe(12);
    expect(config.anySource).toBe(false);
    expect(config.trustedProxies).toEqual(["10.0.0.0/8", "fd00::/8"]);
    expect(config.allowPrivateDestinations).toEqual(["192.168.0.0/16"]);
    expect(config.port).toBe(8080);
    expect(load(undefined, { POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true" }).config.allowPrivateDestinations).toBe(true);
  });

  it("freezes the configuration to the last leaf", () => {
    const { config } = load("subscriptions: [{name: a, url: 'https://a.example', events: ['#'], headers: {X-A: b}}]");
    const parts = [
      config,
      config.limits,
      config.subscriptions,
      config.subscriptions[0],
      config.subscriptions[0]?.["headers"],
    ];
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
  });

  it("takes an empty file and sections whose lines are all comments", () => {
    expect(load("").config.port).toBe(8080);
    expect(load("# nothing\n").config.port).toBe(8080);
    expect(load("limits:\n  # max_depth: 3\nsources:\nport: 1").config).toMatchObject({ port: 1, sources: [] });
  });

  it("warns of unknown variables with our prefix, but not of the client's", () => {
    const env = {
      POSTHORN_PROT: "1",
      POSTHORN_URL: "x",
      POSTHORN_API_KEY: "y",
      POSTHORN_DEDUPE_HORIZON_DAYS_FILE: "z",
      PATH: "p",
    };
    expect(load(undefined, env).warnings).toEqual([
      "POSTHORN_DEDUPE_HORIZON_DAYS_FILE: unknown variable, ignored",
      "POSTHORN_PROT: unknown variable, ignored; did you mean POSTHORN_PORT?",
    ]);
  });
});

describe("secrets in files", () => {
  it("reads a secret from the file that NAME_FILE names, without its last newline", () => {
    writeFileSync(join(cwd, "key"), "correct-horse-battery-staple\n");
    expect(load(undefined, { POSTHORN_ADMIN_KEY_FILE: "key" }).config.adminKey).toBe("correct-horse-battery-staple");
  });

  it("rejects both ways at once, a missing file and an empty one", () => {
    writeFileSync(join(cwd, "empty"), "\n");
    const env = {
      POSTHORN_ADMIN_KEY: "0123456789",
      POSTHORN_ADMIN_KEY_FILE: "empty",
      POSTHORN_MASTER_KEY_FILE: "nowhere",
    };
    const problems = problemsOf(undefined, env);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/^POSTHORN_ADMIN_KEY: given together with POSTHORN_ADMIN_KEY_FILE/);
    expect(problems[1]).toMatch(/^POSTHORN_MASTER_KEY_FILE: cannot read .*nowhere \(ENOENT\)/);
    expect(problemsOf(undefined, { POSTHORN_ADMIN_KEY_FILE: "empty" })[0]).toMatch(/is empty/);
  });

  it("rejects an admin key that could be guessed, and warns of one that is short", () => {
    for (const key of ["12345678", "0123456789abcde"]) {
      expect(problemsOf(undefined, { POSTHORN_ADMIN_KEY: key })).toEqual([
        expect.stringMatching(/^POSTHORN_ADMIN_KEY: .*16 to 256 printable characters/),
      ]);
    }
    const short = load(undefined, { POSTHORN_ADMIN_KEY: "0123456789abcdef" });
    expect(short.warnings).toEqual([expect.stringMatching(/^admin_key: shorter than 32 characters/)]);
    expect(load(undefined, { POSTHORN_ADMIN_KEY: "0123456789abcdef".repeat(2) }).warnings).toEqual([]);
    expect(problemsOf('admin_key: "0123456789abcde"')).toHaveLength(1);
  });

  it("never shows the value of a secret in an error", () => {
    const canary = "canary with spaces";
    const yaml = [
      `admin_key: ${canary}`,
      "subscriptions:",
      `  - {name: a, url: 'https://a.example', events: ['#'], secret: "${canary}\\u0007", headers: {X-A: [${canary}]}}`,
      `  - {name: b, url: 'https://a.example', events: ['#'], headers: {X-A: "${canary}\\u00e9"}}`,
    ].join("\n");
    const problems = problemsOf(yaml, { POSTHORN_MASTER_KEY: canary });
    expect(problems).toHaveLength(5);
    expect(problems.join("\n")).not.toContain("canary");
  });
});

describe("variables in the yaml", () => {
  it("expands them in values, with defaults, escapes and the type that the schema asks for", () => {
    const yaml = "port: ${P}\nhost: ${H:-h}${H2:-}\nuser_agent: $$x ${U} $y\nlimits: {max_depth: '${D:-7}'}";
    const { config } = load(yaml, { P: "81", H: "", U: "u" });
    expect(config).toMatchObject({ port: 81, host: "h", userAgent: "$x u $y", limits: { maxDepth: 7 } });
  });

  it("names file, line and variable when one is missing", () => {
    expect(problemsOf("# comment\nhost: ${NOWHERE}\n")[0]).toMatch(
      /^posthorn\.yaml:2:7 host: variable NOWHERE is not set/,
    );
    expect(problemsOf("host: ${no-name}")[0]).toMatch(/^posthorn\.yaml:1:7 host: `\$\{` does not start a variable/);
  });

  it("never lets a value add structure, whatever it holds", () => {
    const hostile = fc.oneof(fc.string(), fc.constantFrom("a\nport: 1", "a, b: c}", "[x]", "*ref", "!!int 3", "# c"));
    fc.assert(
      fc.property(hostile, (value) => {
        const yaml = "sources: []\nsubscriptions: [{name: n, url: 'u', events: [a], description: '${V:-}'}]\nport: 5";
        const { config } = load(yaml, { V: value.replaceAll("\0", "") });
        expect(config.port).toBe(5);
        expect(config.subscriptions[0]?.description).toBe(value.replaceAll("\0", ""));
      }),
      { numRuns: 50 },
    );
  });

  it("leaves an unexpanded number in quotes what it is: text, and rejected", () => {
    expect(problemsOf("port: '80'")[0]).toMatch(/^posthorn\.yaml:1:7 port: expected a whole number from 0 to 65535/);
  });
});

describe("wrong configuration", () => {
  it("reports everything at once, each with its place, its value and what to do", () => {
    const yaml = [
      "port: 70000",
      "hots: x",
      "limits:",
      "  max_depth: deep",
      "  request_timeout_s: 5",
      "role: worker",
      "store_url: postgres://me:hunter2@db/x",
      "trusted_proxies: [10.0.0.0/8, 10.0.0.1, 10.0.0.0/33, '::ffff:10.0.0.0/64']",
      "tls_cert: a.pem",
      "public_url: ftp://x",
      "user_agent: MyBot/1",
      "log_level: loud",
      "sources: [{name: .ba}, {name: a, event_type: 'a b'}, {name: a}]",
      "subscriptions: [{name: s, events: none, knd: http}]",
    ].join("\n");
    expect(problemsOf(yaml, { POSTHORN_MAX_SOCKETS: "0" }, { host: "a b" })).toEqual([
      "posthorn.yaml:1:7 port: expected a whole number from 0 to 65535, but it is 70000",
      "posthorn.yaml:2:1 hots: unknown key; did you mean host?",
      'posthorn.yaml:4:14 limits.max_depth: expected a whole number from 1 to 10000, but it is "deep"',
      'posthorn.yaml:6:7 role: expected "all", but it is "worker"; ' +
        "other roles need a shared store or a broker, which this version does not have",
      'posthorn.yaml:12:12 log_level: expected "fatal", "error", "warn", "info", "debug" or "trace", but it is "loud"',
      expect.stringMatching(
        /^posthorn\.yaml:13:18 sources\[0\]\.name: expected text that matches .*, but it is "\.ba"$/,
      ),
      expect.stringMatching(/^posthorn\.yaml:14:35 subscriptions\[0\]\.events: expected a list/),
      "posthorn.yaml:14:41 subscriptions[0].knd: unknown key; did you mean kind?",
      "posthorn.yaml:14:17 subscriptions[0].url: is missing",
      "POSTHORN_MAX_SOCKETS: expected a whole number from 1 to 65535, but it is 0",
      expect.stringMatching(/^--host: expected text that matches .*, but it is "a b"; give a host name or an address/),
      expect.stringMatching(/^posthorn\.yaml:8:18 trusted_proxies: "10\.0\.0\.1" is not a CIDR; write for example/),
      expect.stringMatching(/^posthorn\.yaml:8:18 trusted_proxies: "10\.0\.0\.0\/33" is not a CIDR/),
      expect.stringMatching(/^posthorn\.yaml:8:18 trusted_proxies: "::ffff:10\.0\.0\.0\/64" is not a CIDR/),
      expect.stringMatching(/^posthorn\.yaml:7:12 store_url: this build supports only sqlite, not postgres:/),
      "posthorn.yaml:10:13 public_url: must begin with https:// or http://, not ftp:",
      expect.stringMatching(/^posthorn\.yaml:11:13 user_agent: must not contain `bot`/),
      "posthorn.yaml:9:11 tls_cert: also needs tls_key; set both or neither",
      "posthorn.yaml:5:22 limits.request_timeout_s: must not be less than headers_timeout_s (10)",
      expect.stringMatching(/^posthorn\.yaml:13:46 sources\[1\].event_type: is not an event type/),
      "posthorn.yaml:13:61 sources[2].name: sources[1] has the same name; names are unique",
    ]);
  });

  it("keeps the password of a URL out of the error", () => {
    expect(problemsOf("store_url: postgres://me:hunter2@db/x").join()).not.toContain("hunter2");
    expect(problemsOf("port: http://me:hunter2@db/x").join()).not.toContain("hunter2");
  });

  it("rejects keys given twice, broken yaml, several documents, merge keys and a file that is a list", () => {
    expect(problemsOf("port: 1\nport: 2")[0]).toMatch(/^posthorn\.yaml:2:1: Map keys must be unique/);
    expect(problemsOf("port: [1")[0]).toMatch(/^posthorn\.yaml:1:/);
    expect(problemsOf("port: 1\n---\nport: 2")).toHaveLength(1);
    expect(problemsOf("<<: {port: 1}")[0]).toBe("posthorn.yaml:1:1 <<: unknown key");
    expect(problemsOf("- port")[0]).toMatch(/^posthorn\.yaml:1:1: expected settings/);
    expect(problemsOf("port:")[0]).toMatch(/^posthorn\.yaml:1:\d+ port: expected .*, but it is empty/);
    expect(problemsOf("__proto__: {port: 1}\nconstructor: 1")).toHaveLength(2);
  });

  it("survives aliases that grow without bound", () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const items = Array.from({ length: 10 }, () => (level === 0 ? "x" : `*a${level - 1}`));
      return `l${level}: &a${level} [${items.join(", ")}]`;
    });
    expect(problemsOf(levels.join("\n")).join("\n")).toMatch(/aliases in this file expand too far/);
  });

  it.each([
    ["sqlite://host/x.db", /has no host/],
    ["sqlite::memory:", /would lose events/],
    ["sqlite:x?mode=memory", /must not contain/],
    ["mysql:x", /only sqlite, not mysql:/],
    ["nonsense", /not a URL/],
  ])("rejects the store URL %s", (url, problem) => {
    expect(problemsOf(undefined, { POSTHORN_STORE_URL: url })[0]).toMatch(problem);
  });

  it("is one error with the code config_invalid, whose message lists every problem", () => {
    const failure = catchError(() => load("port: x\nhost: []"));
    expect(failure).toMatchObject({ code: "config_invalid" });
    expect(String(failure)).toMatch(/has 2 errors:\n {2}posthorn\.yaml:1:7 port: .*\n {2}posthorn\.yaml:2:7 host: /);
  });

  it("finds the database file of a relative store URL from the working directory", () => {
    expect(getDatabasePath(load("store_url: sqlite:db/x.db").config)).toBe(join(cwd, "db", "x.db"));
    expect(getDatabasePath(load("store_url: sqlite:///var/x.db").config)).toBe("/var/x.db");
  });
});

describe("declared subscriptions", () => {
  const one = `{name: a, url: 'https://a.example', events: ['order.*'], secret: '${SECRET}'}`;

  it("keep the shape of the API", () => {
    expect(load(`subscriptions: [${one}]`).config.subscriptions).toEqual([
      { name: "a", url: "https://a.example", events: ["order.*"], secret: SECRET },
    ]);
  });

  it("have names that are unique per tenant", () => {
    expect(problemsOf(`subscriptions:\n- ${one}\n- ${one}`)).toEqual([
      "posthorn.yaml:3:10 subscriptions[1].name: subscriptions[0] has the same name; names are unique per tenant",
    ]);
    expect(problemsOf(`subscriptions:\n- ${one}\n- ${one.replace("{", "{tenant_id: t, ")}`)).toEqual([]);
  });

  it("follow the rules that the API has, with the place of the field", () => {
    const yaml = [
      "subscriptions:",
      "  - name: a",
      "    url: https://a.example",
      "    events: [ok, 'not ok']",
      "    retry_policy: {delays_s: [1, -1]}",
      "  - {name: b, url: 'https://a.example', events: [a], retry_policy: short, retry_count: 3}",
      "  - {name: c, url: 'https://a.example', events: [a, 'b c'], headers: {Host: x}}",
    ].join("\n");
    expect(problemsOf(yaml)).toEqual([
      expect.stringMatching(
        /^posthorn\.yaml:5:34 subscriptions\[0\]\.retry_policy\.delays_s\[1\]: expected a number from 0/,
      ),
      expect.stringMatching(/^posthorn\.yaml:6:68 subscriptions\[1\]\.retry_policy: cannot be given together/),
      expect.stringMatching(/^posthorn\.yaml:7:53 subscriptions\[2\]\.events\[1\]: /),
      expect.stringMatching(/^posthorn\.yaml:7:77 subscriptions\[2\]\.headers\.Host: /),
    ]);
  });
});
