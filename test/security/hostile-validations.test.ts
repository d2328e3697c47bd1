import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiClient, type Answer, type ApiClient } from "../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { sized, timeExcess, timeLimit } from "../support/proof-size.ts";
import { report } from "../support/report.ts";

/** Of what the same gateway's loop is held for when nothing bad is sent. */
const MAX_LOOP_RATIO = timeLimit(8);
/** As long as a collection of garbage takes: what holds the loop no longer is calm. */
const CALM_MS = 20;

const LONG = "a".repeat(100_000);
/** Patterns that a backtracking engine takes for ever to give up on, each with a text that makes it. */
const PATTERNS: readonly (readonly [string, string])[] = [
  ["^(a+)+$", `${LONG}!`],
  ["^(a|a)*$", `${LONG}!`],
  ["^(a|aa)+$", `${LONG}!`],
  ["^(a*)*$", `${LONG}!`],
  ["^([a-zA-Z]+)*$", `${LONG}!`],
  ["(x+x+)+y", "x".repeat(100_000)],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", LONG],
  ["(.*a){20}", "b".repeat(100_000)],
  ["^\\s+|\\s+$", " ".repeat(100_000)],
  ["^(\\w+\\s?)*$", `${"word ".repeat(20_000)}!`],
  ["(a?){100}a{100}", "a".repeat(99)],
  ["^(\\d+)*\\.$", "1".repeat(100_000)],
  ["([a-z0-9._%+-]+)+@example\\.com", LONG],
  ["^((ab)*)+$", `${"ab".repeat(50_000)}c`],
  ["(?:a|b|ab)*c", "ab".repeat(50_000)],
  ["^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$", "1.".repeat(50_000)],
  ["(\\2)(\\1)", LONG],
  ["(a{0,100}){0,100}", LONG],
];

/** Schemas whose own check would be the bomb. */
const chain = (levels: number) =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, n) => {
      const next = n + 1 < levels ? { $ref: `#/$defs/l${n + 1}` } : { type: "integer" };
      return [`l${n}`, { anyOf: [next, next] }];
    }),
  );
const MANY = Array.from({ length: 30_000 }, (_, n) => ({ n, same: [n % 7] }));
const SCHEMAS: readonly (readonly [object, unknown])[] = [
  [{ $defs: chain(30), $ref: "#/$defs/l0" }, "x"],
  [{ uniqueItems: true }, MANY],
  [{ items: { enum: Array.from({ length: 5000 }, (_, n) => ({ n })) } }, MANY],
  [{ patternProperties: { "^(a+)+$": { type: "string" } } }, { [LONG]: 1 }],
  [
    {
      $defs: { t: { anyOf: [{ items: { $ref: "#/$defs/t" } }, { items: { $ref: "#/$defs/t" } }] } },
      $ref: "#/$defs/t",
    },
    nest(60),
  ],
  [{ contains: { const: -1 } }, MANY],
  [{ rules: [{ require: { data: { $contains: { n: -1 } } }, message: "m" }] }, MANY],
];

function nest(levels: number): unknown {
  return levels === 0 ? "x" : [nest(levels - 1), nest(0)];
}

const XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"';
const typed = (pattern: string) => `<xs:schema ${XS}><xs:simpleType name="t"><xs:restriction base="xs:string">
  <xs:pattern value="${pattern}"/></xs:restriction></xs:simpleType><xs:element name="o"><xs:complexType><xs:sequence>
  <xs:element name="q" type="t" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>`;
const XSDS: readonly (readonly [string, string])[] = [
  [typed("(a+)+b"), `<o><q>${LONG}</q></o>`],
  [typed("(a|aa)+b"), `<o><q>${"a".repeat(200)}</q></o>`],
  [typed("b"), `<o>${"<q>a</q>".repeat(100_000)}</o>`],
];

const folder = mkdtempSync(join(tmpdir(), "posthorn-hostile-validations-"));
let running: GatewayProcess;
let gateway: ApiClient;
beforeAll(async () => {
  running = startGatewayProcess({ folder, env: { POSTHORN_LOG_LEVEL: "error" } });
  const url = await running.ready;
  gateway = createApiClient({ url: () => url }, ADMIN_KEY);
});
afterAll(async () => {
  await running.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

function put(endpoint: string, body: string, type: string): Promise<Answer> {
  return gateway.request("PUT", `/validations/${endpoint}`, { body, headers: { "content-type": type } });
}

/** How long the gateway's loop was blocked at most meanwhile, by its own word. */
async function watchLoop(act: () => Promise<void>): Promise<number> {
  await gateway.get("/metrics");
  await act();
  const { text } = await gateway.get("/metrics");
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000;
}

/** As many as the gateway's threads that check, for as long as an attack keeps them busy. */
const WORKERS = 2;
const WORK_MS = sized({ short: 500, middle: 4_000, long: 4_000 });
const WORK = `const end = Date.now() + ${WORK_MS}; while (Date.now() < end);`;

/** What any gateway with a validation does beside as much work: the machine is to blame for what is slow here. */
const calmly = () =>
  watchLoop(async () => {
    const workers = Array.from({ length: WORKERS }, () => once(spawn(process.execPath, ["-e", WORK]), "exit"));
    await put("calm", '{"type":"object"}', "application/json");
    const endAt = Date.now() + WORK_MS;
    while (Date.now() < endAt) await gateway.webhook("calm", JSON.stringify({ text: LONG }));
    await Promise.all(workers);
  });

describe("validations that mean no good", () => {
  it("end, whatever is sent to them, and never hold the loop", async () => {
    const answers: Record<number, number> = {};
    const count = ({ status }: Answer) => (answers[status] = (answers[status] ?? 0) + 1);
    await calmly();
    const before = await calmly();
    const attacked = await watchLoop(async () => {
      const documents = [
        ...PATTERNS.map(([pattern, text]) => [{ pattern }, text] as const),
        ...PATTERNS.map(([pattern, text]) => [{ properties: { a: { pattern } } }, { a: text }] as const),
        ...SCHEMAS,
      ];
      for (const [n, [document, payload]] of documents.entries()) {
        const endpoint = `bomb-${n}`;
        count(await put(endpoint, JSON.stringify(document), "application/json"));
        const body = JSON.stringify(payload);
        // The first goes to the thread; what follows may be checked on the loop.
        for (let turn = 0; turn < 3; turn++) count(await gateway.webhook(endpoint, body));
      }
      for (const [n, [document, body]] of XSDS.entries()) {
        count(await put(`bomb-xsd-${n}`, document, "application/xml"));
        count(await gateway.webhook(`bomb-xsd-${n}`, body, { "content-type": "application/xml" }));
      }
    });
    const after = await calmly();
    const ratio = attacked / Math.max(before, after, CALM_MS);
    const seen = [before, attacked, after].map((ms) => ms.toFixed(0)).join(", ");
    report(
      `R20 hostile validations: loop held ${ratio.toFixed(1)} × as long as when calm; ` +
        `before, attacked, after ${seen} ms; answers ${JSON.stringify(answers)}`,
    );
    expect(
      Object.keys(answers)
        .map(Number)
        .filter((status) => ![200, 202, 422, 503].includes(status)),
    ).toEqual([]);
    expect((await gateway.webhook("calm", "{}")).status).toBe(202);
    expect(ratio).toBeLessThanOrEqual(MAX_LOOP_RATIO);
  });

  it("is a test that can fail: a backtracking engine takes for ever on the same corpus", () => {
    const tryOn = (letters: number): number => {
      const startedAt = performance.now();
      // The first of them, and only a few letters of its text.
      expect(new RegExp(PATTERNS[0]?.[0] ?? "").test(`${"a".repeat(letters)}!`)).toBe(false);
      return performance.now() - startedAt;
    };
    const ratio = tryOn(26) / tryOn(18);
    report(`R20 control, a backtracking pattern on 26 letters: ${ratio.toFixed(0)} × as long as on 18`);
    expect(ratio).toBeGreaterThan(timeExcess(20));
  });
});
