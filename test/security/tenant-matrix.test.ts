import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../src/registry/api-key.ts";
import { until, type ApiClient } from "../support/api-client.ts";
import {
  exampleAnswerOf,
  readApiDocument,
  type ApiDocument,
  type ApiOperation,
  type Json,
} from "../support/api-document.ts";
import { startExampleQueue, type ExampleQueue } from "../support/example-queue.ts";
import { startExampleSmartsheet, type ExampleSmartsheet } from "../support/example-smartsheet.ts";
import {
  buildExample,
  findAlert,
  newSubscription,
  sendExample,
  THINGS,
  type Owner,
} from "../support/example-things.ts";
import { report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, STEADY_ALERT, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { ROUTE_MATRIX, type RouteCase, type RouteEntry } from "./route-matrix.ts";

interface Caller {
  client: ApiClient;
  /** Undefined: no key at all. */
  scope: Scope | undefined;
  tenant: "victim" | "stranger" | undefined;
}

let gateway: TestGateway;
let sink: SinkServer;
let smartsheet: ExampleSmartsheet;
let queue: ExampleQueue;
let victim: Owner;
let callers: Caller[];
let document: ApiDocument;

beforeAll(async () => {
  [smartsheet, queue] = await Promise.all([startExampleSmartsheet(), startExampleQueue()]);
  const yaml = `any_source: false\nsources: [{ name: theirs, tenant_id: victim }, { name: anyones }, ${smartsheet.source}, ${queue.source}]\n${smartsheet.settings}\n${queue.settings}\n${STEADY_ALERT}`;
  [gateway, sink] = await Promise.all([
    startTestGateway({ yaml, env: ALERTING }),
    openSinkServer({ answer: { status: 400 } }),
  ]);
  document = readApiDocument((await gateway.get("/openapi.json")).json);
  callers = [{ client: gateway.as(undefined), scope: undefined, tenant: undefined }];
  // Those who may do nothing first: what belongs to the victim is still there when its owner comes.
  for (const tenant of ["stranger", undefined, "victim"] as const) {
    for (const scope of SCOPES) {
      callers.push({ client: gateway.as(await gateway.createKey([scope], tenant)), scope, tenant });
    }
  }
  const owner = callers.find(({ scope, tenant }) => scope === "admin" && tenant === "victim");
  const client = owner?.client as ApiClient;
  victim = { client, operator: gateway, tenant: "victim", source: "theirs", sinkUrl: sink.url };
  await gateway.webhook("theirs", "{broken");
  await until(async () => (await client.refused("theirs")).length === 1);
  // Before anybody tries anything: an alert that is told meanwhile would be a change of the victim's.
  await findAlert(victim);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
  await Promise.all([smartsheet.close(), queue.close()]);
});

const entryOf = ({ method, path }: Pick<ApiOperation, "method" | "path">): RouteEntry | undefined =>
  ROUTE_MATRIX[`${method} ${path.replaceAll(/\{([a-z_]+)\}/g, ":$1")}`];

/** Where matrix and document differ. */
function findDifferences(operations: readonly Operation[]): string[] {
  const names = new Set(operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{([a-z_]+)\}/g, ":$1")}`));
  const stale = Object.keys(ROUTE_MATRIX).filter((name) => !names.has(name));
  return [
    ...stale.map((name) => `${name} is in the matrix, but not in the document`),
    ...operations.flatMap((operation) => {
      const entry = entryOf(operation);
      if (entry === undefined) return [`${operation.name} has no entry in test/security/route-matrix.ts`];
      const isSame = entry.scope === operation.scope && (entry.unbound === true) === operation.isOperatorOnly;
      return isSame ? [] : [`${operation.name} is for others in the document than in the matrix`];
    }),
  ];
}

type Operation = Pick<ApiOperation, "name" | "method" | "path" | "scope" | "isOperatorOnly">;

function expectedOf({ scope, tenant }: Caller, entry: RouteEntry, { stranger }: RouteCase): number | "success" {
  if (entry.scope === undefined) return "success";
  if (scope === undefined) return 401;
  if (scope !== "admin" && scope !== entry.scope) return 403;
  if (entry.unbound === true && tenant !== undefined) return 403;
  return tenant === "stranger" && stranger !== "own" ? stranger : "success";
}

/** The example; the same in the name of the victim, where that can be said; and what the entry adds. */
async function casesOf(operation: ApiOperation, entry: RouteEntry): Promise<readonly RouteCase[]> {
  if (!isDescribed(operation)) return (await entry.cases?.(victim)) ?? [];
  const example = () => buildExample(operation, victim, { ...THINGS, ...entry.things });
  const { usesOwned, ...shown } = await example();
  const cases: RouteCase[] = [{ ...shown, stranger: entry.stranger ?? (usesOwned ? 404 : "own") }];
  const add = (path: string, query: string) => path + (path.includes("?") ? "&" : "?") + query;
  const asked = new Set(operation.parameters.filter((one) => one.in === "query").map(({ name }) => name));
  if (asked.has("tenant_id")) {
    // Afresh: the example may use up what it names.
    const { path, body } = await example();
    cases.push({ path: add(path, "tenant_id=victim"), body, stranger: usesOwned ? 404 : "own" });
  }
  if (asked.has("subscription_id")) {
    cases.push({ path: add(shown.path, `subscription_id=${await newSubscription(victim)}`), stranger: 404 });
  }
  if (operation.bodyMembers.has("tenant_id")) {
    const { path, body } = await example();
    cases.push({ path, body: { ...(body as Json), tenant_id: "victim" }, stranger: 403 });
  }
  return [...cases, ...((await entry.cases?.(victim)) ?? [])];
}

/** What is not is complained of by the test of the document, with what to add where. */
function isDescribed(operation: ApiOperation): boolean {
  return exampleAnswerOf(operation) !== undefined;
}

const NOT_WATCHED = { before: "", release: () => undefined };

/** Everything of the victim that a stranger could have changed. */
async function snapshot(): Promise<string> {
  const paths = ["subscriptions", "deliveries", "keys"].map((list) => `${list}?tenant_id=victim&limit=500`);
  const answers = await Promise.all([...paths, "tenants/victim"].map((path) => gateway.get(`/api/v1/${path}`)));
  // How it went lately changes by itself.
  return answers.map(({ text }) => text.replaceAll(/"(?:success_rate|latency)_\w+":[^,}]+/g, "")).join("\n");
}

/** What the owner set going in an earlier call ends by itself: then nothing changes from one look to the next. */
async function snapshotWhenQuiet(): Promise<string> {
  let last = "";
  await until(async () => {
    const open = await gateway.deliveries("tenant_id=victim");
    const isOver = open.every(
      ({ status, hold_reason }) => status !== "sending" && !(status === "pending" && hold_reason === null),
    );
    const before = last;
    last = await snapshot();
    return isOver && last === before;
  });
  return last;
}

/** Time stands still from this look on: a destination that is down is not tried meanwhile, and nothing expires. */
async function snapshotAndHold(): Promise<{ before: string; release: () => void }> {
  for (;;) {
    const quiet = await snapshotWhenQuiet();
    const release = gateway.holdClock();
    const before = await snapshot();
    if (before === quiet) return { before, release };
    release();
  }
}

/** The first place where they part, with what stands around it. */
function describeChange(before: string, after: string): string {
  let at = 0;
  while (before[at] === after[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 200), at + 100);
  return `${around(before)}\n  became\n${around(after)}`;
}

async function tryOperation(operation: ApiOperation, caller: Caller, problems: string[]): Promise<number> {
  const entry = entryOf(operation) as RouteEntry;
  const isStranger = caller.tenant === "stranger";
  const cases = await casesOf(operation, entry);
  if (cases.length === 0) problems.push(`${operation.name} has neither an example in the document nor cases here`);
  for (const one of cases) {
    const hasHead = operation.method === "GET" && entry.hasNoHead !== true;
    const methods = hasHead ? ["HEAD", "GET"] : [operation.method];
    for (const method of methods) {
      const isWatched = isStranger && methods.length === 1;
      const { before, release } = isWatched ? await snapshotAndHold() : NOT_WATCHED;
      const answer = await sendExample(caller.client, { method, path: one.path, body: one.body });
      const expected = expectedOf(caller, entry, one);
      const who = `${caller.tenant ?? "unbound"}/${caller.scope ?? "no key"}`;
      const complain = (what: string) => problems.push(`${who} ${method} ${one.path}: ${what}`);
      const isDone = (answer.status >= 200 && answer.status < 300) || answer.status === 303;
      const isRight = expected === "success" ? isDone : answer.status === expected;
      if (!isRight) complain(`${answer.status} instead of ${expected} ${answer.text}`);
      const isChecked = method !== "HEAD" && isDescribed(operation);
      const difference = isChecked ? document.checkAnswer(operation, answer) : undefined;
      if (difference !== undefined) complain(`is not as the document says: ${difference}`);
      if (isStranger && answer.text.includes("victim")) complain(`tells ${answer.text}`);
      const after = isWatched ? await snapshot() : "";
      release();
      if (after !== before) complain(`changed what is the victim's: ${describeChange(before, after)}`);
    }
  }
  return cases.length;
}

describe("every operation of the OpenAPI document, with every kind of key", () => {
  it("has an entry in the matrix that says the same, and the matrix has no others", () => {
    const { operations } = document;
    expect(operations.length).toBeGreaterThan(50);
    expect(findDifferences(operations)).toEqual([]);
    // The controls: a new route is missed, and so is one that the document opens to others.
    const secrets = { name: "GET /api/v1/secrets", method: "GET", path: "/api/v1/secrets" } as const;
    const added = { ...secrets, scope: undefined, isOperatorOnly: false };
    expect(findDifferences([...operations, added])).toEqual([
      "GET /api/v1/secrets has no entry in test/security/route-matrix.ts",
    ]);
    const opened = operations.map((one) => (one.path === "/api/v1/jobs" ? { ...one, isOperatorOnly: false } : one));
    expect(findDifferences(opened)).toEqual(["GET /api/v1/jobs is for others in the document than in the matrix"]);
  });

  it("keeps to scopes and tenants: another tenant's things do not exist, and are not changed", async () => {
    const problems: string[] = [];
    let tries = 0;
    for (const operation of document.operations) {
      for (const caller of callers) tries += await tryOperation(operation, caller, problems);
    }
    report(
      `R21 cross-tenant matrix: ${problems.length} leaks in ${tries} tries on ${document.operations.length} routes`,
    );
    expect(problems).toEqual([]);
    expect(tries).toBeGreaterThan(400);
  });

  it("would see a leak: a stranger whose key is bound to nobody finds and changes things", async () => {
    const leaky: Caller = { client: gateway, scope: "admin", tenant: "stranger" };
    const leaks = async (method: string, path: string) => {
      const problems: string[] = [];
      await tryOperation(document.find(method, path) as ApiOperation, leaky, problems);
      return problems.join("\n");
    };
    expect(await leaks("GET", "/api/v1/subscriptions/{id}")).toMatch(/200 instead of 404.*\n.*tells/);
    expect(await leaks("GET", "/api/v1/events")).toMatch(/tells/);
    expect(await leaks("DELETE", "/api/v1/subscriptions/{id}")).toMatch(/changed what is the victim's/);
    expect(await leaks("PATCH", "/api/v1/tenants/{id}")).toMatch(/200 instead of 403/);
  });
});
