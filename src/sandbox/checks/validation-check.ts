import { after, type MaybePromise } from "../../model/accepted.ts";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_ENDPOINT, type Validation, type ValidationMode } from "../../model/validation.ts";
import type { Mismatch } from "../schema/faults.ts";
import type { WellFormed } from "../text/body-check.ts";
import { unavailable } from "../threads/thread-lines.ts";
import {
  toDocument,
  type CheckedDocument,
  type CheckedRequest,
  type Checker,
  type CheckFailure,
  type Mismatches,
} from "./checker.ts";

export type ExaminedDocument = Pick<Validation, "format" | "hash" | "document">;
type Request = Omit<CheckedRequest, "endpoint">;

export interface TryOut {
  /** The endpoint whose validation was used; undefined if there is none. */
  validation: string | undefined;
  errors: readonly Mismatch[];
}

/** The current validations of an endpoint. */
interface Applied {
  readonly endpoint: string;
  json?: InForce;
  xsd?: InForce;
}

interface InForce {
  readonly version: number;
  readonly document: CheckedDocument;
}

export type ValidationChecker = ReturnType<typeof createValidationChecker>;

/** Validates whole requests with the validation of their endpoint. An endpoint without one costs a map lookup. */
export function createValidationChecker(checker: Checker, mode: ValidationMode) {
  let own: ReadonlyMap<string, Applied> = new Map();
  let fallback: Applied | undefined;

  function compare(applied: Applied, endpoint: string, request: Request, form: WellFormed): MaybePromise<Mismatches> {
    const used = usedOf(applied, form);
    if (used === undefined) return [wrongKind(form.kind, applied)];
    return checker.check(used.document, toChecked(endpoint, request), failed);
  }

  return {
    /** Throws or rejects with a code of status 422. */
    check(endpoint: string, request: Request, form: WellFormed): Promise<void> | undefined {
      const applied = own.get(endpoint) ?? fallback;
      if (applied === undefined) {
        if (mode === "strict") throw notFound(endpoint);
        return undefined;
      }
      const result = after(compare(applied, endpoint, request, form), (found) =>
        settle(endpoint, applied, form, found),
      );
      return result instanceof Promise ? result : undefined;
    },
    /** The result of a check with the current validation or another one. Runs outside of the event loop. */
    async tryOut(endpoint: string, request: Request, form: WellFormed, instead?: ExaminedDocument): Promise<TryOut> {
      if (instead !== undefined) {
        if (form.kind === "other" || instead.format !== (form.kind === "xml" ? "xsd" : "json")) {
          return { validation: endpoint, errors: [wrongKind(form.kind, {})] };
        }
        const checked = await checker.tryOut(toTrial(instead), toChecked(endpoint, request));
        if ("mismatches" in checked) return { validation: endpoint, errors: checked.mismatches ?? [] };
        throw invalid(checked);
      }
      const applied = own.get(endpoint) ?? fallback;
      if (applied === undefined) {
        const errors = mode === "strict" ? [{ path: "", message: notFound(endpoint).message }] : [];
        return { validation: undefined, errors };
      }
      return { validation: applied.endpoint, errors: (await compare(applied, endpoint, request, form)) ?? [] };
    },
    /** Why a document cannot be used. Compiled outside of the event loop. Rejects with `unreadable_body`. */
    async examine(document: ExaminedDocument): Promise<string | undefined> {
      const checked = await checker.tryOut(toTrial(document));
      if ("mismatches" in checked) return undefined;
      return "exhausted" in checked ? "needs too much memory to be compiled" : checked.fault;
    },
    /** Must be called when validations have changed. */
    update(validations: readonly Validation[]): void {
      const applied = new Map<string, Applied>();
      for (const { endpoint, format, version, document: bytes, hash } of validations) {
        const known = own.get(endpoint)?.[format]?.document;
        // Compiled validations are kept until their document changes.
        const document = known?.hash === hash ? known : toDocument(format, endpoint, bytes, hash);
        const one = applied.get(endpoint) ?? { endpoint };
        one[format] = { version, document };
        applied.set(endpoint, one);
      }
      own = applied;
      fallback = own.get(DEFAULT_ENDPOINT);
    },
  };
}

function usedOf(applied: Applied, { kind }: WellFormed): InForce | undefined {
  return kind === "xml" ? applied.xsd : kind === "json" ? applied.json : undefined;
}

/** Only what a thread needs: a request of a webhook has more. */
function toChecked(endpoint: string, { body, headers, query }: Request): CheckedRequest {
  return { body, endpoint, headers, query };
}

function toTrial({ format, document, hash }: ExaminedDocument): CheckedDocument {
  return toDocument(format, "", document, hash);
}

/** Throws: the gateway is at fault, or the document. */
function failed(failure: CheckFailure | "overdue", { name }: CheckedDocument): never {
  if (failure === "overdue") throw unavailable("The check of the body took too long. Try again later.");
  if ("exhausted" in failure) throw unavailable("The check of the body took too much memory. Try again later.");
  throw new PosthornError("internal_error", `The validation of ${name} ${failure.fault}.`);
}

function settle(endpoint: string, applied: Applied, form: WellFormed, mismatches: Mismatches): undefined {
  if (mismatches === undefined) return undefined;
  const [first] = mismatches;
  const reason = first === undefined ? "" : `: ${first.path === "" ? "it" : first.path} ${first.message}`;
  const { endpoint: validation } = applied;
  throw new PosthornError("validation_failed", `The body does not pass the validation of ${validation}${reason}.`, {
    details: { endpoint, validation, version: usedOf(applied, form)?.version ?? null, errors: mismatches },
  });
}

function wrongKind(kind: WellFormed["kind"], applied: Partial<Applied>): Mismatch {
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

function invalid(failure: CheckFailure): PosthornError {
  const reason = "exhausted" in failure ? "needs too much memory" : failure.fault;
  return new PosthornError("invalid_validation", `The validation ${reason}.`);
}
