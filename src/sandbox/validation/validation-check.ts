import type { IncomingHttpHeaders } from "node:http";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_ENDPOINT, type Validation, type ValidationMode } from "../../model/validation.ts";
import { parseQuery } from "../../model/addresses.ts";
import { createCompileQueue, type Compilable } from "../schema/compile-soon.ts";
import type { Mismatch } from "../schema/payload-schema.ts";
import {
  CHECK_DEADLINES,
  createApartChecker,
  LASTING_THREADS,
  type ApartReply,
  type ApartRequest,
} from "../checks/check-apart.ts";
import { Overdue } from "../threads/thread-seat.ts";
import { bomLength } from "../../model/json.ts";
import type { WellFormed } from "../text/well-formed.ts";
import type { JsonValidation } from "./json-validation.ts";

/** Validates whole requests with the validation of their endpoint. */
export interface RequestValidations {
  /** Whether the check of small JSON needs the parsed body. */
  wantsValue(endpoint: string): boolean;
  /** Throws or rejects with a code of status 422. */
  check(endpoint: string, request: CheckedRequest, form: WellFormed): Promise<void> | undefined;
}

/** Validates requests with the validation of their endpoint. An endpoint without one costs a map lookup. */
export interface ValidationChecker extends RequestValidations {
  /** The result of a check with the current validation or another one. Runs outside of the event loop. */
  tryOut(endpoint: string, request: CheckedRequest, form: WellFormed, instead?: ExaminedDocument): Promise<TryOut>;
  /** Why a document cannot be used. Compiled outside of the event loop. Rejects with `unreadable_body`. */
  examine(document: ExaminedDocument): Promise<string | undefined>;
  /** Must be called when validations have changed. */
  update(validations: readonly Validation[]): void;
  close(): Promise<void>;
}

export type ExaminedDocument = Pick<Validation, "format" | "hash" | "document">;

export interface CheckedRequest {
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
}

export interface TryOut {
  /** The endpoint whose validation was used; undefined if there is none. */
  validation: string | undefined;
  errors: readonly Mismatch[];
}

/** The current validations of an endpoint. */
interface Applied {
  readonly endpoint: string;
  readonly json: Checked | undefined;
  readonly xsd: Checked | undefined;
}

type Checked = Validation & Compilable<JsonValidation>;

type Found = readonly Mismatch[] | undefined;

/** Enough for an order with hundreds of lines; longer checks continue in the thread. */
const MAX_STEPS_ON_LOOP = 20_000;
/** Compiling takes about a millisecond for each 100 characters, not counting spaces. */
const MAX_COMPILED_ON_LOOP = 3072;
const MAX_READ_ON_LOOP_BYTES = 32 * 1024;
/** For documents that somebody tests. */
const TRIAL = "trial";

export interface ValidationCheckerOptions {
  mode: ValidationMode;
  /** For tests only. */
  deadlineMs?: number | undefined;
}

export function createValidationChecker({ mode, deadlineMs }: ValidationCheckerOptions): ValidationChecker {
  const deadlines = deadlineMs === undefined ? CHECK_DEADLINES : { checkMs: deadlineMs, compileMs: deadlineMs };
  const lasting = { ...deadlines, ...LASTING_THREADS };
  // Separate threads, so that XML never waits for JSON, and neither waits for tests of documents.
  const apart = {
    json: createApartChecker({ ...lasting, readsXml: false }),
    xsd: createApartChecker({ ...lasting, readsXml: true }),
  };
  const trials = createApartChecker({ ...deadlines, maxThreads: 1, readsXml: true });
  let own: ReadonlyMap<string, Applied> = new Map();
  let fallback: Applied | undefined;
  const compileSoon = createCompileQueue<JsonValidation, Checked>(compileOnLoop);

  function compare(
    applied: Applied,
    endpoint: string,
    request: CheckedRequest,
    form: WellFormed,
  ): Found | Promise<Found> {
    if (form.kind === "xml" && applied.xsd !== undefined) return compareApart(applied.xsd, endpoint, request);
    if (form.kind === "json" && applied.json !== undefined)
      return compareJson(applied.json, endpoint, request, form.value);
    return [wrongKind(form.kind, applied)];
  }

  function compareJson(
    checked: Checked,
    endpoint: string,
    request: CheckedRequest,
    data: unknown,
  ): Found | Promise<Found> {
    const { compiled } = checked;
    if (compiled === undefined) compileSoon(checked);
    if (compiled === undefined || compiled === "apart" || data === undefined) {
      return compareApart(checked, endpoint, request);
    }
    const { headers, query } = request;
    try {
      const parsedQuery = compiled.hasRules ? parseQuery(query) : undefined;
      return compiled.check({ data, headers, query: parsedQuery, source: endpoint }, MAX_STEPS_ON_LOOP);
    } catch {
      return compareApart(checked, endpoint, request);
    }
  }

  async function compareApart(checked: Checked, endpoint: string, request: CheckedRequest): Promise<Found> {
    let reply: ApartReply;
    try {
      reply = await apart[checked.format].run({ ...checked, isAccepted: true }, toApart(endpoint, request));
    } catch (error) {
      throw error instanceof Overdue ? unavailable("took too long") : error;
    }
    if ("mismatches" in reply) return reply.mismatches;
    if ("exhausted" in reply) throw unavailable("took too much memory");
    const reason = "fault" in reply ? reply.fault : reply.refused.message;
    throw new PosthornError("internal_error", `The validation of ${checked.endpoint} ${reason}.`);
  }

  return {
    wantsValue(endpoint) {
      const compiled = (own.get(endpoint) ?? fallback)?.json?.compiled;
      return compiled !== undefined && compiled !== "apart";
    },
    check(endpoint, request, form) {
      const applied = own.get(endpoint) ?? fallback;
      if (applied === undefined) {
        if (mode === "strict") throw notFound(endpoint);
        return undefined;
      }
      const found = compare(applied, endpoint, request, form);
      if (found instanceof Promise) return found.then((mismatches) => settle(endpoint, applied, form, mismatches));
      return settle(endpoint, applied, form, found);
    },
    async tryOut(endpoint, request, form, instead) {
      const wanted = form.kind === "xml" ? "xsd" : "json";
      if (instead !== undefined) {
        if (form.kind === "other" || instead.format !== wanted) {
          return { validation: endpoint, errors: [wrongKind(form.kind, { endpoint })] };
        }
        const reply = await orFault(trials.run(toTrial(instead), toApart(endpoint, request)));
        if ("mismatches" in reply) return { validation: endpoint, errors: reply.mismatches ?? [] };
        throw invalid(reply);
      }
      const applied = own.get(endpoint) ?? fallback;
      if (applied === undefined) {
        const errors = mode === "strict" ? [{ path: "", message: notFound(endpoint).message }] : [];
        return { validation: undefined, errors };
      }
      return { validation: applied.endpoint, errors: (await compare(applied, endpoint, request, form)) ?? [] };
    },
    async examine(document) {
      const reply = await orFault(trials.examine(toTrial(document)));
      if ("mismatches" in reply) return undefined;
      if ("refused" in reply) throw toError(reply);
      return "exhausted" in reply ? "needs too much memory to be compiled" : reply.fault;
    },
    update(validations) {
      const before = own;
      const formats = new Map<string, Map<string, Checked>>();
      for (const one of validations) {
        const known = before.get(one.endpoint)?.[one.format];
        // Compiled validations are kept until their document changes.
        const compiled = known?.hash === one.hash ? known.compiled : undefined;
        const others = formats.get(one.endpoint) ?? new Map<string, Checked>();
        formats.set(one.endpoint, others.set(one.format, toChecked(one, compiled)));
      }
      own = new Map(
        [...formats].map(([endpoint, found]) => [
          endpoint,
          { endpoint, json: found.get("json"), xsd: found.get("xsd") },
        ]),
      );
      fallback = own.get(DEFAULT_ENDPOINT);
    },
    async close() {
      await Promise.all([apart.json.close(), apart.xsd.close(), trials.close()]);
    },
  };
}

function toTrial(document: ExaminedDocument) {
  return { ...document, endpoint: TRIAL, isAccepted: false };
}

async function orFault(trial: Promise<ApartReply>): Promise<ApartReply> {
  try {
    return await trial;
  } catch (error) {
    if (!(error instanceof Overdue)) throw error;
    return { fault: "takes too long to be compiled and run" };
  }
}

async function compileOnLoop({ document }: Validation): Promise<JsonValidation | "apart"> {
  if (document.length > MAX_READ_ON_LOOP_BYTES) return "apart";
  const text = JSON.stringify(JSON.parse(toText(document)));
  if (text.length > MAX_COMPILED_ON_LOOP) return "apart";
  // Imported on demand: the packages are large, and most gateways have no validations.
  const { compileJsonValidation } = await import("./json-validation.ts");
  return compileJsonValidation(text, { trusted: true });
}

/** With a copy of the body, because for a view the whole buffer would be sent. */
function toApart(endpoint: string, { body, headers, query }: CheckedRequest): ApartRequest {
  return { endpoint, body: new Uint8Array(body), headers, query };
}

function toChecked({ endpoint, format, version, document, hash }: Validation, compiled: Checked["compiled"]): Checked {
  return { endpoint, format, version, document, hash, compiled };
}

function settle(endpoint: string, applied: Applied, form: WellFormed, mismatches: Found): undefined {
  if (mismatches === undefined) return undefined;
  const [first] = mismatches;
  const reason = first === undefined ? "" : `: ${first.path === "" ? "it" : first.path} ${first.message}`;
  const used = form.kind === "xml" ? applied.xsd : applied.json;
  throw new PosthornError(
    "validation_failed",
    `The body does not pass the validation of ${applied.endpoint}${reason}.`,
    {
      details: { endpoint, validation: applied.endpoint, version: used?.version ?? null, errors: mismatches },
    },
  );
}

function wrongKind(kind: WellFormed["kind"], applied: Pick<Applied, "endpoint"> & Partial<Applied>): Mismatch {
  const taken = [applied.json === undefined ? [] : "JSON", applied.xsd === undefined ? [] : "XML"].flat();
  const is = kind === "other" ? "is neither JSON nor XML" : `is ${kind === "xml" ? "XML" : "JSON"}`;
  const says = taken.length === 0 ? "is of another kind" : `is for ${taken.join(" and ")}`;
  return { path: "", message: `${is}, and the validation ${says}` };
}

function notFound(endpoint: string): PosthornError {
  return new PosthornError(
    "validation_not_found",
    `There is no validation for ${endpoint}, and the gateway accepts no webhooks without one. ` +
      `Put one to /validations/${endpoint}.`,
    { details: { endpoint } },
  );
}

function unavailable(what: string): PosthornError {
  return new PosthornError("unavailable", `The check of the body ${what}. Try again later.`, { retryAfterS: 5 });
}

function invalid(reply: Exclude<ApartReply, { mismatches: unknown }>): PosthornError {
  if ("refused" in reply) return toError(reply);
  const reason = "exhausted" in reply ? "needs too much memory" : reply.fault;
  return new PosthornError("invalid_validation", `The validation ${reason}.`);
}

function toError({ refused }: Extract<ApartReply, { refused: unknown }>): PosthornError {
  return new PosthornError(refused.code, refused.message, { details: refused.details });
}

function toText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.toString("utf8", bomLength(buffer));
}
