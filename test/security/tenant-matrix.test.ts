import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../src/model/scopes.ts";
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
import { buildExample, newSubscription, sendExample, THINGS, type Owner } from "../support/example-things.ts";
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
/** All but the victims, who are others for each operation. */
let outsiders: Caller[];
let document: ApiDocument;
/** The name and the id of an operator's subscription for all tenants, and where it sends to. */
let unseen: readonly string[];
let tries = 0;

beforeAll(async () => {
  [smartsheet, queue] = await Promise.all([startExampleSmartsheet(), startExampleQueue()]);
  const yaml = `any_source: false\nsources: [{ name: anyones }, ${smartsheet.source}, ${queue.source}]\n${smartsheet.settings}\n${queue.settings}\n${STEADY_ALERT}`;
  [gateway, sink] = await Promise.all([
    startTestGateway({ yaml, env: ALERTING }),
    openSinkServer({ answer: { status: 400 } }),
  ]);
  document = readApiDocument((await gateway.get("/openapi.json")).json);
  const place = { url: `${sink.url}/unseen-place`, suspend_after_dead: null };
  const bus = { name: "unseen-bus", ...place, events: ["#"], tenants: "*" };
  unseen = [bus.name, "unseen-place", (await gateway.subscribe(bus)).id];
  outsiders = [
    { client: gateway.as(undefined), scope: undefined, tenant: undefined },
    ...(await createCallers("stranger", "stranger")),
    ...(await createCallers(undefined, undefined)),
  ];
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
  await Promise.all([smartsheet.close(), queue.close()]);
  report(`R21 cross-tenant matrix: ${tries} tries on ${document.operations.length} routes`);
});

/** One with each scope. */
function createCallers(tenant: Caller["tenant"], tenantId: string | undefined): Promise<Caller[]> {
  return Promise.all(
    SCOPES.map(async (scope) => {
      const settings = { name: `${tenantId ?? "unbound"} ${scope}`, scopes: [scope], tenant_id: tenantId };
      const { json } = await gateway.post("/api/v1/keys", settings);
      return { client: gateway.as(String(json["key"])), scope, tenant };
    }),
  );
}

interface Victim extends Owner {
  callers: readonly Caller[];
}

let victims = 0;

/** A tenant with a source and a request that was rejected: of nobody else's making, and nobody else's to change. */
async function createVictim(): Promise<Victim> {
  const tenant = `victim-${++victims}`;
  const source = `theirs-${victims}`;
  const callers = await createCallers("victim", tenant);
  const { client } = callers.find(({ scope }) => scope === "admin") as Caller;
  await client.post("/api/v1/sources", { name: source });
  await gateway.webhook(source, "{broken");
  await until(async () => (await client.rejected(source)).length === 1);
  return { client, operator: gateway, tenant, source, sinkUrl: sink.url, callers };
}

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
async function casesOf(operation: ApiOperation, entry: RouteEntry, victim: Victim): Promise<readonly RouteCase[]> {
  if (!isDescribed(operation)) return (await entry.cases?.(victim)) ?? [];
  const example = () => buildExample(operation, victim, { ...THINGS, ...entry.things });
  const { usesOwned, ...shown } = await example();
  const cases: RouteCase[] = [{ ...shown, stranger: entry.stranger ?? (usesOwned ? 404 : "own") }];
  const add = (path: string, query: string) => path + (path.includes("?") ? "&" : "?") + query;
  const asked = new Set(operation.parameters.filter((one) => one.in === "query").map(({ name }) => name));
  if (asked.has("tenant_id")) {
    // Afresh: the example may use up what it names.
    const { path, body } = await example();
    cases.push({ path: add(path, `tenant_id=${victim.tenant}`), body, stranger: usesOwned ? 404 : "own" });
  }
  if (asked.has("subscription_id")) {
    cases.push({ path: add(shown.path, `subscription_id=${await newSubscription(victim)}`), stranger: 404 });
  }
  if (operation.bodyMembers.has("tenant_id")) {
    const { path, body } = await example();
    cases.push({ path, body: { ...(body as Json), tenant_id: victim.tenant }, stranger: 403 });
  }
  return [...cases, ...((await entry.cases?.(victim)) ?? [])];
}

/** What is not is complained of by the test of the document, with what to add where. */
function isDescribed(operation: ApiOperation): boolean {
  return exampleAnswerOf(operation) !== undefined;
}

/** A call that is rejected uses nothing up, nor does one that only reads: the next caller tries the same things. */
function createCases(operation: ApiOperation, entry: RouteEntry, victim: Victim) {
  let unused: readonly RouteCase[] | undefined;
  return async (caller: Caller): Promise<readonly RouteCase[]> => {
    const cases = unused ?? (await casesOf(operation, entry, victim));
    // What operators' subscriptions got of it has ended like what the victim's own got.
    if (unused === undefined && operation.method !== "GET")
      await until(async () => (await listUnseenOpen()).length === 0);
    const usesUp = operation.method !== "GET" && cases.some((one) => expectedOf(caller, entry, one) === "success");
    unused = usesUp ? undefined : cases;
    return cases;
  };
}

const listUnseenOpen = async () =>
  (
    await Promise.all(["pending", "sending"].map((status) => gateway.deliveries(`tenant_id=_gateway&status=${status}`)))
  ).flat();

/** Everything of the victim that a stranger could have changed. */
async function snapshot({ tenant }: Victim): Promise<string> {
  const paths = ["subscriptions", "deliveries", "keys"].map((list) => `${list}?tenant_id=${tenant}&limit=500`);
  const answers = await Promise.all([...paths, `tenants/${tenant}`].map((path) => gateway.get(`/api/v1/${path}`)));
  // How it went lately changes by itself.
  return answers.map(({ text }) => text.replaceAll(/"(?:success_rate|latency)_\w+":[^,}]+/g, "")).join("\n");
}

/** What was set going for an earlier call ends by itself: then nothing changes from one look to the next. */
async function snapshotWhenQuiet(victim: Victim): Promise<string> {
  let last = "";
  await until(async () => {
    const open = await gateway.deliveries(`tenant_id=${victim.tenant}`);
    const isOver = open.every(
      ({ status, hold_reason }) => status !== "sending" && !(status === "pending" && hold_reason === null),
    );
    const before = last;
    last = await snapshot(victim);
    return isOver && last === before;
  });
  return last;
}

interface Watch {
  /** What has become of the victim's things since the last look; undefined when nothing has. */
  describeChange(): Promise<string | undefined>;
  release(): void;
}

/** Time stands still meanwhile: a destination that is down is not tried, and nothing expires. */
async function watchThings(victim: Victim): Promise<Watch> {
  for (;;) {
    const quiet = await snapshotWhenQuiet(victim);
    const release = gateway.holdClock();
    let last = await snapshot(victim);
    if (last !== quiet) {
      release();
      continue;
    }
    const describeChange = async () => {
      const before = last;
      last = await snapshot(victim);
      return last === before ? undefined : findChange(before, last);
    };
    return { describeChange, release };
  }
}

/** The first place where they part, with what stands around it. */
function findChange(before: string, after: string): string {
  let at = 0;
  while (before[at] === after[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 200), at + 100);
  return `${around(before)}\n  became\n${around(after)}`;
}

/** Every caller with every case; says what was not as it should be. */
async function tryOperation(operation: ApiOperation, callers: readonly Caller[], victim: Victim): Promise<string[]> {
  const entry = entryOf(operation) as RouteEntry;
  const problems: string[] = [];
  const takeCases = createCases(operation, entry, victim);
  const hasHead = operation.method === "GET" && entry.hasNoHead !== true;

  async function tryCase(caller: Caller, one: RouteCase, watch: Watch | undefined): Promise<void> {
    const isStranger = caller.tenant === "stranger";
    for (const method of hasHead ? ["HEAD", "GET"] : [operation.method]) {
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
      if (caller.tenant !== undefined && unseen.some((mark) => answer.text.includes(mark))) {
        complain(`shows what is the operators' alone: ${answer.text}`);
      }
      const change = await watch?.describeChange();
      if (change !== undefined) complain(`changed what is the victim's: ${change}`);
    }
    tries += 1;
  }

  // Those who may do nothing first, watched: what belongs to the victim is still there when its owner comes.
  const planned: { caller: Caller; cases: readonly RouteCase[] }[] = [];
  for (const caller of callers.filter(({ tenant }) => tenant === "stranger")) {
    planned.push({ caller, cases: await takeCases(caller) });
  }
  const watch = operation.method === "GET" ? undefined : await watchThings(victim);
  try {
    for (const { caller, cases } of planned) for (const one of cases) await tryCase(caller, one, watch);
  } finally {
    watch?.release();
  }
  for (const caller of callers.filter(({ tenant }) => tenant !== "stranger")) {
    for (const one of await takeCases(caller)) await tryCase(caller, one, undefined);
  }
  return problems;
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

  // shows: A22
  it.each(Object.keys(ROUTE_MATRIX))("%s keeps to scopes and tenants", async (name) => {
    const [method = "", path = ""] = name.split(" ");
    const operation = document.find(method, path.replaceAll(/:([a-z_]+)/g, "{$1}")) as ApiOperation;
    const victim = await createVictim();
    const callers = [...outsiders, ...victim.callers];
    const before = tries;
    expect(await tryOperation(operation, callers, victim)).toEqual([]);
    // Neither an example in the document nor cases here: nothing was tried.
    expect(tries - before).toBeGreaterThanOrEqual(callers.length);
  });

  it("would see a leak: a stranger whose key is bound to nobody finds and changes things (control)", async () => {
    const leaky: Caller = { client: gateway, scope: "admin", tenant: "stranger" };
    const victim = await createVictim();
    const leaks = async (method: string, path: string) =>
      (await tryOperation(document.find(method, path) as ApiOperation, [leaky], victim)).join("\n");
    expect(await leaks("GET", "/api/v1/subscriptions/{id}")).toMatch(/200 instead of 404.*\n.*tells/);
    expect(await leaks("GET", "/api/v1/events")).toMatch(/tells/);
    for (const list of ["subscriptions", "deliveries", "dead-letters", "targets"]) {
      expect(await leaks("GET", `/api/v1/${list}`)).toMatch(/shows what is the operators' alone/);
    }
    expect(await leaks("DELETE", "/api/v1/subscriptions/{id}")).toMatch(/changed what is the victim's/);
    expect(await leaks("PATCH", "/api/v1/tenants/{id}")).toMatch(/200 instead of 403/);
  });
});
