import { after, type MaybePromise } from "../../model/accepted.ts";
import { PosthornError } from "../../model/errors.ts";
import { addDetail } from "../../model/event.ts";
import type { EventType } from "../../model/event-type.ts";
import type { NewEvent } from "../../store/port/event-log.ts";
import { TOO_LONG, type Mismatch } from "../schema/faults.ts";
import {
  toDocument,
  type CheckedDocument,
  type CheckedRequest,
  type Checker,
  type CheckFailure,
  type Mismatches,
} from "./checker.ts";

export interface CheckedType {
  readonly name: string;
  readonly enforce: boolean;
  readonly versions: ReadonlyMap<string, CheckedDocument>;
  /** The schema of the latest version. */
  readonly latest: string;
}

const VALID = '"schema_result":{"valid":true}';

export type SchemaChecker = ReturnType<typeof createSchemaChecker>;

/** Validates events against the schemas of their types. A type without a schema costs one map lookup. */
export function createSchemaChecker(checker: Checker) {
  let types: ReadonlyMap<string, CheckedType> = new Map();

  return {
    find: (eventType: string): CheckedType | undefined => types.get(eventType),
    /**
     * Returns the event with the result in its details. Throws or rejects with `schema_mismatch` or `unknown_version` if
     * the type enforces its schemas. A body that is not JSON is invalid. Never changes the body.
     */
    check(type: CheckedType, event: Readonly<NewEvent>, isJson: boolean): MaybePromise<Readonly<NewEvent>> {
      const schema = type.versions.get(event.version);
      if (schema === undefined) return settle(type, event, [unknownVersion(type, event)]);
      if (!isJson) return settle(type, event, [{ path: "", message: "is not JSON" }]);
      return after(checker.check(schema, toRequest(event.body), toMismatch), (found) => settle(type, event, found));
    },
    /** Why a schema cannot be used or rejects its own example. Compiled outside of the event loop. */
    async examine(
      schema: object,
      example: unknown,
    ): Promise<{ part: "schema" | "example"; message: string } | undefined> {
      const payload = example === undefined ? undefined : toRequest(Buffer.from(JSON.stringify(example)));
      const document = toDocument("schema", "", Buffer.from(JSON.stringify(schema)));
      const checked = await checker.tryOut(document, payload);
      if (!("mismatches" in checked)) return { part: "schema", message: faultOf(checked) };
      const [first] = checked.mismatches ?? [];
      if (first === undefined) return undefined;
      return { part: "example", message: `does not match the schema: ${describe(first)}` };
    },
    /** Must be called when registered types have changed. */
    update(registered: readonly EventType[]): void {
      const before = types;
      types = new Map(
        registered
          .filter(({ versions }) => versions.length > 0)
          .map((type) => [type.name, toChecked(type, before.get(type.name))]),
      );
    },
  };
}

function toRequest(body: Uint8Array): CheckedRequest {
  return { body, endpoint: "", headers: {}, query: "" };
}

/** A schema that cannot be run affects only events of its own type. */
function toMismatch(failure: CheckFailure | "overdue"): Mismatches {
  const message = failure === "overdue" ? TOO_LONG : `cannot be checked: the schema ${faultOf(failure)}`;
  return [{ path: "", message }];
}

function faultOf(failure: CheckFailure): string {
  return "fault" in failure ? failure.fault : "cannot be run";
}

/** Compiled schemas are kept until their schema changes. */
function toChecked({ name, enforce, versions }: EventType, before: CheckedType | undefined): CheckedType {
  const checked = new Map<string, CheckedDocument>();
  for (const { version, schema } of versions) {
    const bytes = Buffer.from(JSON.stringify(schema));
    const known = before?.versions.get(version);
    checked.set(version, known !== undefined && bytes.equals(known.bytes) ? known : toDocument("schema", name, bytes));
  }
  return { name, enforce, versions: checked, latest: versions.at(-1)?.version ?? "" };
}

/** Received webhooks name no version: the latest one applies. */
export function inVersion({ latest }: CheckedType, event: Readonly<NewEvent>): Readonly<NewEvent> {
  return event.origin !== "webhook" || event.version === latest ? event : { ...event, version: latest };
}

function settle(type: CheckedType, event: Readonly<NewEvent>, mismatches: Mismatches): Readonly<NewEvent> {
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
