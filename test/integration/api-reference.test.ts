import fastify from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { watchDocumentedRoutes } from "../../src/api/routes/route.ts";
import { GATEWAY_EVENT_TYPES } from "../../src/model/pattern.ts";
import { OWN_EVENT_DOCS } from "../../src/api/openapi/own-events.ts";
import { buildReference } from "../../src/api/openapi/document.ts";
import { PLUGINS } from "../../src/plugins.ts";
import { until } from "../support/api-client.ts";
import {
  exampleAnswerOf,
  findUndocumented,
  readApiDocument,
  type ApiDocument,
  type ApiOperation,
  type Json,
} from "../support/api-document.ts";
import { buildExample, findAlert, sendExample, THINGS, type Owner } from "../support/example-things.ts";
import { startExampleQueue, type ExampleQueue } from "../support/example-queue.ts";
import { startExampleSmartsheet, type ExampleSmartsheet } from "../support/example-smartsheet.ts";
import { checkOwnEnvelope, checkOwnEvent } from "../support/own-event-document.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, STEADY_ALERT, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { watchRoutes } from "../support/watch-routes.ts";

const USUAL_VERBS = new Set(
  (
    "Acknowledge Cancel Check Close Confirm Create Delete End Erase Export Follow Get Import List Mute Pause Plan Preview " +
    "Publish Purge Recover Register Replay Requeue Resume Retry Revoke Roll Rotate Run Search Send Set Show Test Unmute " +
    "Update Verify"
  ).split(" "),
);

const watch = watchRoutes();
let gateway: TestGateway;
let sink: SinkServer;
let smartsheet: ExampleSmartsheet;
let queue: ExampleQueue;
let owner: Owner;
let json: Json;
let document: ApiDocument;

beforeAll(async () => {
  [smartsheet, queue] = await Promise.all([startExampleSmartsheet(), startExampleQueue()]);
  const sources = `sources: [{ name: theirs, tenant_id: acme-1 }, ${smartsheet.source}, ${queue.source}]`;
  const yaml = `catalog_public: true\nany_source: false\n${sources}\n${smartsheet.settings}\n${queue.settings}\n${STEADY_ALERT}`;
  [gateway, sink] = await Promise.all([
    startTestGateway({ yaml, env: { AMQP_URL: "amqp://127.0.0.1:1/", ...ALERTING } }),
    openSinkServer({ answer: { status: 400 } }),
  ]);
  const client = gateway.as(await gateway.createKey(["admin"], "acme-1"));
  owner = { client, operator: gateway, tenant: "acme-1", source: "theirs", sinkUrl: sink.url };
  await gateway.webhook("theirs", "{broken");
  await until(async () => (await client.rejected("theirs")).length === 1);
  await findAlert(owner);
  json = (await gateway.as(undefined).get("/openapi.json")).json;
  document = readApiDocument(json);
});
afterAll(async () => {
  watch.stop();
  await Promise.all([gateway.close(), sink.close()]);
  await Promise.all([smartsheet.close(), queue.close()]);
});

/** Members whose content belongs to somebody else. */
const FREE = /^(headers|request_headers|response_headers|payload|schema|example|info|paths|webhooks|components)$/;

/** Where the shapes of two values differ; of lists it is enough that one real item is like the example's first. */
function findDifference(example: unknown, real: unknown, at = ""): string | undefined {
  if (example === null || real === null || FREE.test(at.split(".").at(-1) ?? "")) return undefined;
  if (Array.isArray(example) && Array.isArray(real)) {
    if (example.length === 0) return undefined;
    const differences = real.map((item: unknown) => findDifference(example[0], item, `${at}[]`));
    return differences.includes(undefined) ? undefined : (differences[0] ?? `${at} is empty`);
  }
  if (typeof example !== typeof real) return `${at} is ${typeof real}, not ${typeof example}`;
  if (typeof example !== "object") return undefined;
  const keys = [example, real as object].map((value) => Object.keys(value).sort().join(", "));
  if (keys[0] !== keys[1]) return `${at} has ${keys[1]}, not ${keys[0]}`;
  const members = Object.entries(example as Json);
  return members.map(([key, value]) => findDifference(value, (real as Json)[key], `${at}.${key}`)).find(Boolean);
}

async function runExample(operation: ApiOperation): Promise<string | undefined> {
  const expected = exampleAnswerOf(operation);
  const client = operation.isOperatorOnly ? owner.operator : owner.client;
  const answer = await sendExample(client, await buildExample(operation, owner));
  if (answer.status !== expected?.status) return `${answer.status} instead of ${expected?.status}: ${answer.text}`;
  const isJson = /[/+]json/.test(answer.headers.get("content-type") ?? "");
  return (
    document.checkAnswer(operation, answer) ??
    (isJson ? findDifference(expected.example, JSON.parse(answer.text)) : undefined)
  );
}

describe("the OpenAPI document", () => {
  it("has every route of the gateway, and no other", () => {
    const routes = watch.routes().filter(({ method }) => method !== "HEAD");
    const registered = routes.map(({ method, url }) => `${method} ${url.replaceAll(/:([a-z_]+)/g, "{$1}")}`);
    const hot = ["POST /webhook/{source}", "POST /webhook/{source}/{path}"];
    expect(document.operations.map(({ name }) => name).sort()).toEqual([...registered, ...hot].sort());
  });

  it("describes every route: a summary, its answers without open objects, and an example", async () => {
    expect(findUndocumented(json)).toEqual([]);
    const known = new Set(document.operations.map(({ method, path }) => `${method} ${path}`));
    // The docs of other routes are part of the route.
    const ofPlugins = await Promise.all(PLUGINS.map((plugin) => plugin.loadDocs()));
    const described = ofPlugins.flatMap(({ operations }) => Object.keys(operations));
    const left = described.filter((name) => !known.has(name.replaceAll(/:([a-z_]+)/g, "{$1}").replace("*", "{path}")));
    expect(left).toEqual([]);
  });

  it("titles every operation with what it does, in the usual word", () => {
    const isUsual = ({ summary = "" }: ApiOperation) => USUAL_VERBS.has(summary.split(" ", 1)[0] ?? "");
    expect(document.operations.filter((one) => !isUsual(one)).map(({ name, summary }) => [name, summary])).toEqual([]);
    expect(isUsual({ ...(document.operations[0] as ApiOperation), summary: "Make a subscription" })).toBe(false);
  });

  it("would miss what a new route lacks, and says what to add where", () => {
    const app = fastify();
    const routes = watchDocumentedRoutes(app);
    app.post("/api/v1/things/:id", { schema: { body: { type: "object" } } }, async () => ({}));
    const problems = findUndocumented(buildReference(routes, "0")).join("\n");
    expect(problems).toMatch(/POST \/api\/v1\/things\/\{id\} has no summary: declare it with `route`/);
    expect(problems).toMatch(
      /has no answer: add `answer` with its schema .* "POST \/api\/v1\/things\/:id" in its declaration/,
    );
    expect(problems).toMatch(/has no example of its body/);
    expect(problems).toMatch(/has no example of \{id\}/);
  });

  it("has examples that fit their own schemas", () => {
    const problems = document.operations.flatMap((operation) => {
      const path = `/paths/${operation.path.replaceAll("/", "~1").replaceAll(/[{}]/g, encodeURIComponent)}`;
      const at = `${path}/${operation.method.toLowerCase()}`;
      const answer = exampleAnswerOf(operation);
      const [type = ""] = Object.keys(operation.responses[answer?.status ?? 0]?.content ?? {});
      const media = `/content/${type.replace("/", "~1")}/schema`;
      return [
        answer?.example === undefined
          ? undefined
          : document.check(`${at}/responses/${answer.status}${media}`, answer.example),
        operation.body?.example === undefined
          ? undefined
          : document.check(`${at}/requestBody/content/application~1json/schema`, operation.body.example),
      ]
        .filter((problem) => problem !== undefined)
        .map((problem) => `${operation.name}: ${problem}`);
    });
    expect(problems).toEqual([]);
  });

  it("has examples that a real gateway answers as described, member for member", async () => {
    for (const { make } of Object.values(THINGS)) await make(owner);
    await gateway.post("/api/v1/jobs/end-overlaps/run");
    const problems: string[] = [];
    for (const operation of document.operations) {
      const problem = await runExample(operation);
      if (problem !== undefined) problems.push(`${operation.name}: ${problem}`);
    }
    expect(problems).toEqual([]);
  });

  it("would find an answer that shows what is not described", async () => {
    const operation = document.find("GET", "/health") as ApiOperation;
    const headers = new Headers({ "content-type": "application/json" });
    expect(document.checkAnswer(operation, { status: 200, headers, text: '{"status":"ok"}' })).toBeUndefined();
    expect(document.checkAnswer(operation, { status: 200, headers, text: '{"status":"ok","more":1}' })).toMatch(
      /must NOT have additional properties/,
    );
    expect(document.checkAnswer(operation, { status: 201, headers, text: "{}" })).toMatch(/201 is not described/);
    expect(findDifference({ a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }] })).toMatch(/has b, c, not b/);
  });

  it("describes what a destination receives", async () => {
    const received = await openSinkServer();
    try {
      for (const format of ["envelope", "cloudevents"]) {
        await owner.client.subscribe({ name: format, url: received.url, events: ["shown.once"], format });
      }
      await owner.client.publish({ event_type: "shown.once", payload: { a: 1 } });
      const requests = await received.received(2);
      const webhooks = json["webhooks"] as {
        delivery: { post: { parameters: { name: string; required: boolean }[] } };
      };
      const required = webhooks.delivery.post.parameters.filter((one) => one.required).map(({ name }) => name);
      expect(required).toContain("webhook-signature");
      for (const { headers, body } of requests) {
        expect(Object.keys(headers)).toEqual(expect.arrayContaining(required.map((name) => name.toLowerCase())));
        const type = String(headers["content-type"]).split(";")[0]?.replace("/", "~1");
        const pointer = `/webhooks/delivery/post/requestBody/content/${encodeURIComponent(type ?? "")}/schema`;
        expect(document.check(pointer, JSON.parse(body.toString("utf8")))).toBeUndefined();
      }
    } finally {
      await received.close();
    }
  });
});

describe("what the gateway tells of itself", () => {
  it("is described, type by type, with an example", () => {
    const webhooks = json["webhooks"] as Record<string, { post: { requestBody: Json } }>;
    const types = GATEWAY_EVENT_TYPES;
    expect(Object.keys(webhooks).sort()).toEqual(["delivery", ...types].sort());
    for (const type of types) {
      const content = webhooks[type]?.post.requestBody["content"] as Record<string, { example: unknown }>;
      expect(checkOwnEnvelope(content["application/json"]?.example)).toBeUndefined();
    }
  });

  it("would be missed where it tells more than is described, or less", () => {
    for (const { type, example } of OWN_EVENT_DOCS) {
      expect(checkOwnEvent(type, { ...example, more: 1 })).toMatch(/must NOT have additional properties/);
      expect(checkOwnEvent(type, {})).toMatch(/must have required property/);
    }
  });
});

describe("a page or document for everybody", () => {
  it.each(["/docs", "/openapi.json", "/catalog"])("is not sent again to who has it: %s", async (path) => {
    const anybody = gateway.as(undefined);
    const first = await anybody.get(path);
    const etag = first.headers.get("etag") ?? "";
    expect([first.status, first.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    expect(first.headers.get("x-content-type-options")).toBe("nosniff");
    for (const known of [etag, `"other", ${etag.replace("W/", "")}`, "*"]) {
      const again = await anybody.request("GET", path, { headers: { "if-none-match": known } });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    const other = await anybody.request("GET", path, { headers: { "if-none-match": '"other"' } });
    expect([other.status, other.text]).toEqual([200, first.text]);
  });
});
