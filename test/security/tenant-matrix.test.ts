import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../src/manage/keys.ts";
import { until, type Answer, type ApiClient } from "../support/api-client.ts";
import { report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { watchRoutes, type WatchedRoute } from "../support/watch-routes.ts";
import { ROUTE_MATRIX, type RouteCase, type RouteEntry, type Victim } from "./route-matrix.ts";

interface Caller {
  client: ApiClient;
  /** Undefined: no key at all. */
  scope: Scope | undefined;
  tenant: "victim" | "stranger" | undefined;
}

const watch = watchRoutes();
let gateway: TestGateway;
let sink: SinkServer;
let victim: Victim;
let callers: Caller[];

beforeAll(async () => {
  const yaml = "sources: [{ name: theirs, tenant_id: victim }]";
  [gateway, sink] = await Promise.all([startTestGateway({ yaml }), openSinkServer({ answer: { status: 400 } })]);
  callers = [{ client: gateway.as(undefined), scope: undefined, tenant: undefined }];
  // Those who may do nothing first: what belongs to the victim is still there when its owner comes.
  for (const tenant of ["stranger", undefined, "victim"] as const) {
    for (const scope of SCOPES) {
      callers.push({ client: gateway.as(await gateway.createKey([scope], tenant)), scope, tenant });
    }
  }
  const owner = callers.find(({ scope, tenant }) => scope === "admin" && tenant === "victim");
  victim = { client: owner?.client as ApiClient, operator: gateway, sinkUrl: sink.url };
  await gateway.webhook("theirs", "{broken");
  await until(async () => (await victim.client.refused("theirs")).length === 1);
});
afterAll(async () => {
  watch.stop();
  await Promise.all([gateway.close(), sink.close()]);
});

const entryOf = ({ name }: Pick<WatchedRoute, "name">): RouteEntry | undefined =>
  ROUTE_MATRIX[name.replace(/^HEAD /, "GET ")];

function findMissing(routes: readonly Pick<WatchedRoute, "name">[]): string[] {
  return routes.filter((route) => entryOf(route) === undefined).map(({ name }) => name);
}

function expectedOf({ scope, tenant }: Caller, entry: RouteEntry, { stranger }: RouteCase): number | "success" {
  if (entry.scope === undefined) return "success";
  if (scope === undefined) return 401;
  if (scope !== "admin" && scope !== entry.scope) return 403;
  if (entry.unbound === true && tenant !== undefined) return 403;
  return tenant === "stranger" && stranger !== "own" ? stranger : "success";
}

/** Everything of the victim that a stranger could have changed. */
async function snapshot(): Promise<string> {
  const paths = ["subscriptions", "deliveries", "keys"].map((list) => `${list}?tenant_id=victim&limit=500`);
  const answers = await Promise.all([...paths, "tenants/victim"].map((path) => gateway.get(`/api/v1/${path}`)));
  return answers.map(({ text }) => text).join("\n");
}

/** What the owner set going in an earlier call ends by itself. */
async function whenQuiet(): Promise<void> {
  await until(async () => {
    const open = await gateway.deliveries("tenant_id=victim");
    return open.every(
      ({ status, hold_reason }) => status !== "sending" && !(status === "pending" && hold_reason === null),
    );
  });
}

async function tryRoute(route: WatchedRoute, caller: Caller, problems: string[]): Promise<number> {
  const entry = entryOf(route) as RouteEntry;
  const isReading = route.method === "GET" || route.method === "HEAD";
  const isStranger = caller.tenant === "stranger";
  const cases = await entry.cases(victim);
  for (const one of cases) {
    const isWatched = isStranger && !isReading;
    if (isWatched) await whenQuiet();
    const before = isWatched ? await snapshot() : "";
    const answer = await send(caller.client, route.method, one);
    const expected = expectedOf(caller, entry, one);
    const who = `${caller.tenant ?? "unbound"}/${caller.scope ?? "no key"}`;
    const complain = (what: string) => problems.push(`${who} ${route.method} ${one.path}: ${what}`);
    const isRight = expected === "success" ? answer.status >= 200 && answer.status < 300 : answer.status === expected;
    if (!isRight) complain(`${answer.status} instead of ${expected} ${answer.text}`);
    if (isStranger && answer.text.includes("victim")) complain(`tells ${answer.text}`);
    if (isWatched && (await snapshot()) !== before) complain("changed what is the victim's");
  }
  return cases.length;
}

function send(client: ApiClient, method: string, { path, body }: RouteCase): Promise<Answer> {
  if (body === undefined) return client.request(method, path);
  return client.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
}

describe("every route of the gateway, with every kind of key", () => {
  it("has an entry in the matrix, and the matrix has no others", () => {
    const routes = watch.routes();
    expect(routes.length).toBeGreaterThan(30);
    expect(findMissing(routes)).toEqual([]);
    const names = new Set(routes.map(({ name }) => name));
    expect(Object.keys(ROUTE_MATRIX).filter((name) => !names.has(name))).toEqual([]);
    // The control: a new route is missed.
    expect(findMissing([...routes, { name: "GET /api/v1/secrets" }])).toEqual(["GET /api/v1/secrets"]);
  });

  it("keeps to scopes and tenants: another tenant's things do not exist, and are not changed", async () => {
    const problems: string[] = [];
    let tries = 0;
    for (const route of watch.routes()) {
      for (const caller of callers) tries += await tryRoute(route, caller, problems);
    }
    report(`R21 cross-tenant matrix: ${problems.length} leaks in ${tries} tries on ${watch.routes().length} routes`);
    expect(problems).toEqual([]);
    expect(tries).toBeGreaterThan(400);
  });

  it("would see a leak: a stranger whose key is bound to nobody finds and changes things", async () => {
    const leaky: Caller = { client: gateway, scope: "admin", tenant: "stranger" };
    const leaks = async (name: string) => {
      const problems: string[] = [];
      const route = watch.routes().find((one) => one.name === name) as WatchedRoute;
      await tryRoute(route, leaky, problems);
      return problems.join("\n");
    };
    expect(await leaks("GET /api/v1/subscriptions/:id")).toMatch(/200 instead of 404.*\n.*tells/);
    expect(await leaks("GET /api/v1/events")).toMatch(/tells/);
    expect(await leaks("DELETE /api/v1/subscriptions/:id")).toMatch(/changed what is the victim's/);
    expect(await leaks("PATCH /api/v1/tenants/:id")).toMatch(/200 instead of 403/);
  });
});
