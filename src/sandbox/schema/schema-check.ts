import { createHash } from "node:crypto";
import { PosthornError } from "../../model/errors.ts";
import type { EventType } from "../../model/event-type.ts";
import { addDetail } from "../../model/event.ts";
import type { NewEvent } from "../../store/port/event-log.ts";
import { after, type MaybePromise } from "../../model/accepted.ts";
import {
  CHECK_DEADLINES,
  createApartChecker,
  LASTING_THREADS,
  type ApartDocument,
  type ApartReply,
  type ApartRequest,
} from "../checks/check-apart.ts";
import { Overdue } from "../threads/thread-seat.ts";
import { bomLength } from "../../model/json.ts";
import { createCompileQueue, type Compilable } from "./compile-soon.ts";
import type { Mismatch, PayloadSchema } from "./payload-schema.ts";
import { TOO_LONG } from "./schema-fault.ts";

/** Validates events against the schemas of their types. A type without a schema costs one map lookup. */
export interface SchemaChecker {
  /** Undefined when the type has no schema. */
  find(eventType: string): CheckedType | undefined;
  /**
   * Returns the event with the result in its details. Throws or rejects with `schema_mismatch` or `unknown_version` if
   * the type enforces its schemas. A body that is not JSON is invalid. Never changes the body.
   */
  check(type: CheckedType, event: Readonly<NewEvent>, isJson: boolean): MaybePromise<Readonly<NewEvent>>;
  /** Why a schema cannot be used or rejects its own example. Compiled outside of the event loop. */
  examine(schema: object, example: unknown): Promise<SchemaProblem | undefined>;
  /** Must be called when registered types have changed. */
  update(types: readonly EventType[]): void;
  close(): Promise<void>;
}

export interface SchemaProblem {
  part: "schema" | "example";
  message: string;
}

export interface CheckedType {
  readonly name: string;
  readonly enforce: boolean;
  readonly versions: ReadonlyMap<string, CheckedVersion>;
  /** The schema of the latest version. */
  readonly latest: string;
}

interface CheckedVersion extends Compilable<PayloadSchema> {
  readonly text: string;
  readonly hash: string;
}

/** A body of this size takes a few milliseconds at most; nearly all events are smaller. */
const MAX_ON_LOOP_BYTES = 128 * 1024;
/** A check with more steps continues in the thread, where it may take longer. */
const MAX_STEPS_ON_LOOP = 200_000;
/** Compiling takes about a millisecond for each 100 bytes. */
const MAX_SCHEMA_BYTES_ON_LOOP = 4096;

const VALID = '"schema_result":{"valid":true}';

export function createSchemaChecker(): SchemaChecker {
  const apart = createApartChecker({ ...CHECK_DEADLINES, ...LASTING_THREADS, readsXml: false });
  const registrations = createApartChecker({ ...CHECK_DEADLINES, maxThreads: 1, readsXml: false });
  let types: ReadonlyMap<string, CheckedType> = new Map();
  const compileSoon = createCompileQueue<PayloadSchema, CheckedVersion>(compileOnLoop);

  function compare(eventType: string, version: CheckedVersion, body: Buffer): MaybePromise<Found> {
    const { compiled } = version;
    if (compiled === undefined) compileSoon(version);
    if (compiled === undefined || compiled === "apart" || body.length > MAX_ON_LOOP_BYTES) {
      return compareApart(eventType, version, body);
    }
    try {
      return compiled.check(JSON.parse(body.toString("utf8", bomLength(body))), MAX_STEPS_ON_LOOP);
    } catch {
      return compareApart(eventType, version, body);
    }
  }

  /** In the thread, a schema that cannot be run affects only events of its own type. */
  async function compareApart(eventType: string, version: CheckedVersion, body: Buffer): Promise<Found> {
    try {
      // A copy, because for a view the whole buffer would be sent, and the body is still needed here.
      const reply = await apart.run(toDocument(eventType, version, true), toRequest(new Uint8Array(body)));
      if ("mismatches" in reply) return reply.mismatches;
      return [{ path: "", message: `cannot be checked: the schema ${faultOf(reply)}` }];
    } catch (error) {
      if (error instanceof Overdue) return [{ path: "", message: TOO_LONG }];
      throw error;
    }
  }

  return {
    find: (eventType) => types.get(eventType),
    check(type, event, isJson) {
      const version = type.versions.get(event.version);
      if (version === undefined) return settle(type, event, [unknownVersion(type, event)]);
      if (!isJson) return settle(type, event, [{ path: "", message: "is not JSON" }]);
      return after(compare(type.name, version, event.body as Buffer), (found) => settle(type, event, found));
    },
    async examine(schema, example) {
      const payload = example === undefined ? undefined : toRequest(new TextEncoder().encode(JSON.stringify(example)));
      const document = toDocument("", toVersion(JSON.stringify(schema)), false);
      const reply = await registrations.examine(document, payload).catch(toFault);
      if (!("mismatches" in reply)) return { part: "schema", message: faultOf(reply) };
      const [first] = reply.mismatches ?? [];
      if (first === undefined) return undefined;
      return { part: "example", message: `does not match the schema: ${describe(first)}` };
    },
    update(registered) {
      const before = types;
      types = new Map(
        registered
          .filter(({ versions }) => versions.length > 0)
          .map((type) => [type.name, toChecked(type, before.get(type.name))]),
      );
    },
    async close() {
      await Promise.all([apart.close(), registrations.close()]);
    },
  };
}

type Found = readonly Mismatch[] | undefined;

function toFault(error: unknown): { fault: string } {
  if (error instanceof Overdue) return { fault: "takes too long to be compiled and run" };
  throw error;
}

function faultOf(reply: Exclude<ApartReply, { mismatches: unknown }>): string {
  return "fault" in reply ? reply.fault : "cannot be run";
}

function toVersion(text: string): CheckedVersion {
  return { text, hash: createHash("sha256").update(text).digest("base64url"), compiled: undefined };
}

function toDocument(eventType: string, { text, hash }: CheckedVersion, isAccepted: boolean): ApartDocument {
  return { format: "schema", hash, document: Buffer.from(text), endpoint: eventType, isAccepted };
}

/** Checks only the payload. */
function toRequest(body: Uint8Array): ApartRequest {
  return { endpoint: "", body, headers: {}, query: "" };
}

/** Compiled schemas are kept until their schema changes. */
function toChecked({ name, enforce, versions }: EventType, before: CheckedType | undefined): CheckedType {
  const checked = new Map<string, CheckedVersion>();
  for (const { version, schema } of versions) {
    const text = JSON.stringify(schema);
    const known = before?.versions.get(version);
    checked.set(version, known?.text === text ? known : toVersion(text));
  }
  return { name, enforce, versions: checked, latest: versions.at(-1)?.version ?? "" };
}

/** Received webhooks name no version: the latest one applies. */
export function inVersion({ latest }: CheckedType, event: Readonly<NewEvent>): Readonly<NewEvent> {
  return event.origin !== "webhook" || event.version === latest ? event : { ...event, version: latest };
}

function settle(type: CheckedType, event: Readonly<NewEvent>, mismatches: Found): Readonly<NewEvent> {
  if (mismatches === undefined) return { ...event, details: addDetail(event.details, VALID) };
  if (!type.enforce) {
    const result = `"schema_result":{"valid":false,"errors":${JSON.stringify(mismatches)}}`;
    return { ...event, details: addDetail(event.details, result) };
  }
  if (!type.versions.has(event.version)) {
    throw new PosthornError("unknown_version", `${mismatches[0]?.message}. Register it, or publish another.`, {
      field: "event_version",
      details: { event_type: type.name, versions: [...type.versions.keys()] },
    });
  }
  const [first] = mismatches;
  throw new PosthornError(
    "schema_mismatch",
    `The payload does not match version ${event.version} of ${type.name}: ${first === undefined ? "" : describe(first)}.`,
    { field: "payload", details: { event_type: type.name, event_version: event.version, errors: mismatches } },
  );
}

function unknownVersion({ name, versions }: CheckedType, { version }: Readonly<NewEvent>): Mismatch {
  return { path: "", message: `${name} has no version ${version}, only ${[...versions.keys()].join(", ")}` };
}

function describe({ path, message }: Mismatch): string {
  return `${path === "" ? "it" : path} ${message}`;
}

async function compileOnLoop({ text }: CheckedVersion): Promise<PayloadSchema | "apart"> {
  if (text.length > MAX_SCHEMA_BYTES_ON_LOOP) return "apart";
  // Imported on demand: the packages are large, and most gateways have no schemas.
  const { compilePayloadSchema } = await import("./payload-schema.ts");
  return compilePayloadSchema(text, { trusted: true });
}
