import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createApiClient, type Answer, type ApiClient } from "./api-client.ts";
import { ADMIN_KEY, startGatewayProcess } from "./gateway-process.ts";

export const LONG = "a".repeat(100_000);
/** Patterns that a backtracking engine takes for ever to give up on, each with a text that makes it. */
export const PATTERNS: readonly (readonly [string, string])[] = [
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

const DOCUMENTS = [
  ...PATTERNS.map(([pattern, text]) => [{ pattern }, text] as const),
  ...PATTERNS.map(([pattern, text]) => [{ properties: { a: { pattern } } }, { a: text }] as const),
  ...SCHEMAS,
];

/** A built gateway of its own; gone after the test. */
export async function startValidatingGateway(): Promise<ApiClient> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-hostile-validations-"));
  const running = startGatewayProcess({ folder, env: { POSTHORN_LOG_LEVEL: "error" } });
  onTestFinished(async () => {
    await running.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });
  const url = await running.ready;
  return createApiClient({ url: () => url }, ADMIN_KEY);
}

export function putValidation(gateway: ApiClient, endpoint: string, body: string, type: string): Promise<Answer> {
  return gateway.request("PUT", `/validations/${endpoint}`, { body, headers: { "content-type": type } });
}

/** Everything that a partner could write to hold the gateway, and a body that makes it; how often each status was answered. */
export async function sendHostileValidations(gateway: ApiClient): Promise<Record<number, number>> {
  const answers: Record<number, number> = {};
  const count = ({ status }: Answer) => (answers[status] = (answers[status] ?? 0) + 1);
  for (const [n, [document, payload]] of DOCUMENTS.entries()) {
    const endpoint = `bomb-${n}`;
    count(await putValidation(gateway, endpoint, JSON.stringify(document), "application/json"));
    const body = JSON.stringify(payload);
    // The first goes to the thread; what follows may be checked on the loop.
    for (let turn = 0; turn < 3; turn++) count(await gateway.webhook(endpoint, body));
  }
  for (const [n, [document, body]] of XSDS.entries()) {
    count(await putValidation(gateway, `bomb-xsd-${n}`, document, "application/xml"));
    count(await gateway.webhook(`bomb-xsd-${n}`, body, { "content-type": "application/xml" }));
  }
  return answers;
}
