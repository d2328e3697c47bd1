import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { EventType } from "../../../../src/model/event-type.ts";
import {
  createSchemaChecker,
  type CheckedType,
  type SchemaChecker,
} from "../../../../src/sandbox/checks/schema-check.ts";
import { createChecker } from "../../../../src/sandbox/checks/checker.ts";
import type { MaybePromise } from "../../../../src/model/accepted.ts";
import type { IncomingEvent } from "../../../../src/accept/fan-out.ts";
import { newEvent } from "../../../support/store-fixtures.ts";
import { until } from "../../../support/api-client.ts";

function typeOf(name: string, schema: object, change: Partial<EventType> = {}): EventType {
  return {
    name,
    description: undefined,
    producer: undefined,
    consumers: [],
    status: "active",
    deprecatedAt: undefined,
    replacedBy: undefined,
    enforce: true,
    versions: [{ version: "1.0", schema, example: undefined, createdAt: 0 }],
    managedBy: "api",
    createdAt: 0,
    updatedAt: 0,
    ...change,
  };
}

function eventOf(type: string, payload: unknown, change: Partial<IncomingEvent> = {}): IncomingEvent {
  return {
    ...newEvent(),
    type,
    origin: "publish",
    version: "1.0",
    body: Buffer.from(JSON.stringify(payload)),
    ...change,
  };
}

const half = { properties: { a: { $ref: "#" } } };
const DOUBLING = { anyOf: [{ allOf: [half, { required: ["none"] }] }, half] };
const LARGE = { properties: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, { type: "string" }])) };

const threads = createChecker();
let checker: SchemaChecker;
beforeAll(() => {
  checker = createSchemaChecker(threads);
  checker.update([
    typeOf("number", { properties: { n: { type: "number" } } }),
    typeOf("doubling", DOUBLING),
    typeOf("large", LARGE),
    typeOf("bare", {}, { versions: [] }),
  ]);
});
afterAll(() => threads.close());

function check(event: IncomingEvent): MaybePromise<IncomingEvent> {
  const type = checker.find(event.type);
  if (type === undefined) throw new Error("no schema");
  return checker.check(type, event, true);
}

/** Whether a small event of this type is judged in the caller's turn by now. */
async function isOnLoop(type: string): Promise<boolean> {
  const result = check(eventOf(type, {}));
  await result;
  return !(result instanceof Promise);
}

describe("the check of events against schemas", () => {
  it("knows nothing of types without a schema", () => {
    expect(checker.find("bare")).toBeUndefined();
    expect(checker.find("unheard.of")).toBeUndefined();
  });

  it("goes to the thread at first, and is made in the same turn once the schema is compiled", async () => {
    expect(await isOnLoop("number")).toBe(false);
    await until(() => isOnLoop("number"));
    expect(() => check(eventOf("number", { n: "x" }))).toThrow(expect.objectContaining({ code: "schema_mismatch" }));
  });

  it("stays in the thread for large payloads and large schemas", async () => {
    await until(() => isOnLoop("number"));
    const wide = check(eventOf("number", { n: 1, text: "x".repeat(200_000) }));
    expect(wide).toBeInstanceOf(Promise);
    await wide;
    for (let time = 0; time < 5; time++) expect(await isOnLoop("large")).toBe(false);
    await expect(check(eventOf("large", { f7: 7 }))).rejects.toMatchObject({ code: "schema_mismatch" });
  });

  it("ends, whatever the schema does, and the loop is free meanwhile", async () => {
    await until(() => isOnLoop("doubling"));
    let payload: object = {};
    for (let depth = 0; depth < 100; depth++) payload = { a: payload };
    const result = check(eventOf("doubling", payload));
    expect(result).toBeInstanceOf(Promise);
    await expect(result).rejects.toMatchObject({
      code: "schema_mismatch",
      details: { errors: [{ path: "", message: "takes too long to check" }] },
    });
  });

  it("rejects a schema without end before it is registered", async () => {
    for (const schema of [
      { $ref: "#" },
      { allOf: [{ $ref: "#" }] },
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#" } } },
    ]) {
      const problem = await checker.examine(schema, undefined);
      expect(problem).toMatchObject({ part: "schema", message: expect.stringMatching(/without end/) as string });
    }
  });

  it("lets a schema that cannot be run harm the events of its own type only", async () => {
    const ownThreads = createChecker();
    onTestFinished(ownThreads.close);
    const own = createSchemaChecker(ownThreads);
    // Registered when nobody asked for that yet.
    const endless = { $ref: "#" };
    own.update([
      typeOf("endless", endless),
      typeOf("lenient", endless, { enforce: false }),
      typeOf("fine", { type: "object", title: "x".repeat(5000) }),
    ]);
    const judge = async (type: string, payload: unknown) => {
      const event = await own.check(own.find(type) as CheckedType, eventOf(type, payload), true);
      return JSON.parse(event.details ?? "{}") as Record<string, unknown>;
    };
    const calls = ["endless", "fine", "lenient", "endless", "fine"].map((type) => judge(type, {}));
    const [first, ...others] = await Promise.allSettled(calls);
    expect(first).toMatchObject({ status: "rejected", reason: { code: "schema_mismatch" } });
    expect(others).toMatchObject([
      { status: "fulfilled", value: { schema_result: { valid: true } } },
      { status: "fulfilled", value: { schema_result: { valid: false } } },
      { status: "rejected", reason: { code: "schema_mismatch" } },
      { status: "fulfilled", value: { schema_result: { valid: true } } },
    ]);
  });

  it("never changes the body, and leaves it to the caller", async () => {
    const event = eventOf("number", { n: 1, text: "x".repeat(200_000) });
    const before = Buffer.from(event.body);
    await check(event);
    expect(before.equals(event.body)).toBe(true);
  });

  it("adds its verdict to what the event says already", async () => {
    const event = eventOf("number", { n: 1 }, { details: '{"user_id":"7"}' });
    const checked = await check(event);
    expect(event.details).toBe('{"user_id":"7"}');
    expect(JSON.parse(checked.details ?? "")).toEqual({ user_id: "7", schema_result: { valid: true } });
  });

  it("examines a schema and its example before they are registered", async () => {
    expect(await checker.examine({ type: "object" }, { a: 1 })).toBeUndefined();
    expect(await checker.examine({ type: "objekt" }, undefined)).toMatchObject({ part: "schema" });
    expect(await checker.examine({ type: "object" }, 5)).toMatchObject({ part: "example" });
  });
});
