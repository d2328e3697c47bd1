import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { VALIDATION_LIMITS, type Validation } from "../../model/validation.ts";
import * as Doc from "../openapi/shapes.ts";
import { OPERATOR, routesOf, type Parts } from "./route.ts";
import { EXAMPLE_ENDPOINT, readBytes, readEndpoint, takeBytes, TryOut, VALIDATIONS_PATH } from "./validations.ts";

const TrialQuery = Doc.optional({
  version: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "Use this version instead of the current one",
  }),
  envelope: Type.Boolean({
    default: false,
    description:
      "The body is `{validation, payload, content_type?}`: a document that is not in effect, and the payload to " +
      "check. XML is given as text",
  }),
});
const Payload = Type.Unknown({ description: "A payload as it would be sent to the endpoint, with its content type" });
/** The largest XML that is accepted, and an envelope around it. */
const MAX_BYTES = 9 * 1024 * 1024;
const ENVELOPE = new Set(["validation", "payload", "content_type"]);

type Document = Pick<Validation, "format" | "document" | "hash">;

interface Trial {
  body: Buffer;
  contentType: string | undefined;
  /** Undefined: the current validation. */
  instead: Document | undefined;
}

/** Tests a validation without a webhook. */
export function addValidationTrialRoute(app: FastifyInstance, parts: Parts): void {
  const { validations, validationChecker, bodies } = parts;

  async function readTrial(request: FastifyRequest, endpoint: string): Promise<Trial> {
    const { version, envelope } = request.query as Static<typeof TrialQuery>;
    if (envelope === true) return openEnvelope(await readEnvelope(readBytes(request)));
    const instead = version === undefined ? undefined : await validations.getVersion(endpoint, version);
    return { body: readBytes(request), contentType: request.headers["content-type"], instead };
  }

  async function readEnvelope(bytes: Buffer): Promise<Record<string, unknown>> {
    await bodies.check(bytes, "application/json", []);
    const envelope = JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, "")) as unknown;
    if (typeof envelope === "object" && envelope !== null && !Array.isArray(envelope)) {
      return envelope as Record<string, unknown>;
    }
    throw invalid("", "The body must be an object with validation and payload.");
  }

  void app.register(async (raw) => {
    const route = routesOf(raw, "Validations");
    takeBytes(raw);
    route(`POST ${VALIDATIONS_PATH}/:endpoint/test`, OPERATOR, "Test a validation", {
      query: TrialQuery,
      body: Payload,
      bodyLimit: MAX_BYTES,
      description: "Shows how a webhook would be validated. Nothing is stored.",
      example: { params: EXAMPLE_ENDPOINT, body: { order_id: "1001" } },
      answer: () => Doc.shows(TryOut, "The result, with the errors found"),
      errors: ["bad_request", "invalid_validation"],
      async handle(request) {
        const endpoint = readEndpoint(request);
        const { body, contentType, instead } = await readTrial(request, endpoint);
        const form = await bodies.check(body, contentType, []);
        const headers: IncomingHttpHeaders = { ...request.headers, "content-type": contentType };
        const tried = await validationChecker.tryOut(endpoint, { body, headers, query: "" }, form, instead);
        const { validation, errors } = tried;
        return { valid: errors.length === 0, endpoint, validation: validation ?? null, errors };
      },
    });
  });
}

function openEnvelope(envelope: Record<string, unknown>): Trial {
  const unknown = Object.keys(envelope).find((name) => !ENVELOPE.has(name));
  if (unknown !== undefined) throw invalid(unknown.slice(0, 60), "is not a known field");
  const { validation, payload, content_type: contentType } = envelope;
  if (payload === undefined) throw invalid("payload", "is missing");
  if (contentType !== undefined && typeof contentType !== "string") throw invalid("content_type", "must be a string");
  if (contentType !== undefined && typeof payload !== "string")
    throw invalid("payload", "must be a string of that type");
  const instead = toDocument(validation);
  if (contentType === undefined && instead.format === "json") {
    return { body: Buffer.from(JSON.stringify(payload)), contentType: "application/json", instead };
  }
  if (typeof payload !== "string") throw invalid("payload", "must be a string that holds XML");
  return { body: Buffer.from(payload), contentType: contentType ?? "application/xml", instead };
}

/** An object, true or false is JSON; a string is XML. */
function toDocument(validation: unknown): Document {
  const isJson = typeof validation === "boolean" || (typeof validation === "object" && validation !== null);
  if (typeof validation !== "string" && !isJson) {
    throw invalid("validation", "must be a JSON Schema or rules, or a string with an XML Schema");
  }
  const format = typeof validation === "string" ? "xsd" : "json";
  const document = Buffer.from(typeof validation === "string" ? validation : JSON.stringify(validation));
  if (document.length > VALIDATION_LIMITS.maxBytes) {
    throw new PosthornError(
      "invalid_validation",
      `The validation is larger than ${VALIDATION_LIMITS.maxBytes / 1024} KB.`,
    );
  }
  return { format, document, hash: createHash("sha256").update(document).digest("hex") };
}

function invalid(field: string, message: string): PosthornError {
  return invalidField(field, field === "" ? message : `${field} ${message}.`);
}
