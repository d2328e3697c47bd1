import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { oneOf } from "../../model/shape.ts";
import { isSourceName, SOURCE_NAME_WORDS } from "../../model/source.ts";
import {
  VALIDATION_FORMATS,
  VALIDATION_LIMITS,
  type Validation,
  type ValidationFormat,
} from "../../model/validation.ts";
import { etagOf } from "../../resources/resource.ts";
import type { LiveValidation } from "../../resources/validations/validation-records.ts";
import type { Validations } from "../../resources/validations/validations.ts";
import { findBodyKind } from "../../sandbox/text/body-check.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage, pageOf, presentAs, presentPage } from "../present.ts";
import { OPERATOR, routesOf, type Parts } from "./route.ts";

const endpoint = Doc.text(EXAMPLE.endpoint);
const version = Type.Integer({
  minimum: 1,
  description: "Both formats of an endpoint share one sequence of numbers",
  examples: [2],
});
const format = Doc.choice(VALIDATION_FORMATS, "`json`: a JSON Schema, rules or both; `xsd`: an XML Schema");
const made = {
  size: Doc.count(87),
  created_at: Doc.Time,
  created_by: Doc.text(EXAMPLE.key, "The id of the API key, or `folder`"),
};

const Validation = Doc.shape("Validation", () => ({ endpoint, format, version, ...made }));

const ValidationVersion = Doc.shape("ValidationVersion", () => ({
  version,
  format,
  ...made,
  deleted: Doc.flag("Whether this version records that the validation was deleted"),
  restored_from: Doc.nullable(Type.Integer({ description: "The version that was restored" })),
  in_force: Type.Boolean({ examples: [true] }),
}));

const TryOut = Doc.shape("ValidationTryOut", () => ({
  valid: Type.Boolean(),
  endpoint,
  validation: Doc.nullable(
    Doc.text(EXAMPLE.endpoint, "Which validation was used: the endpoint's own or `default`; null when there is none"),
  ),
  errors: Type.Array(
    Doc.closed({
      path: Doc.text("/order_id", "A JSON Pointer; for XML, an XPath"),
      message: Doc.text("must be integer"),
      line: Type.Optional(Type.Integer({ description: "In XML" })),
    }),
    { description: "At most 100 errors" },
  ),
}));

const EXAMPLE_ENDPOINT = { endpoint: EXAMPLE.endpoint };
const updated = { status: Type.Literal("validation_updated"), endpoint };

const Format = Type.Optional(oneOf(VALIDATION_FORMATS));
const Version = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const ReadQuery = Doc.closed({ format: Format, version: Type.Optional(Version) });
const DeleteQuery = Doc.closed({ format: Format });
const VersionsQuery = Doc.pageQuery({
  cursor: Type.String({ pattern: "^[1-9][0-9]{0,14}$", description: "`next_cursor` of the previous page" }),
});
const RollbackBody = Doc.closed({ version: Version });
/** May be of several content types, and is stored unchanged. */
const Document = Type.Unknown({
  description:
    "A JSON Schema or rules as `application/json`, or an XML Schema as `application/xml`; at most 256 KB, and 32 " +
    "levels deep",
});

const VALIDATIONS_PATH = "/validations";
const CONTENT_TYPES: Readonly<Record<ValidationFormat, string>> = { json: "application/json", xsd: "application/xml" };
const NOTHING = Buffer.alloc(0);

export function addValidationRoutes(app: FastifyInstance, { validations }: Parts): void {
  const route = routesOf(app, "Validations");
  route(`GET ${VALIDATIONS_PATH}`, OPERATOR, "List validations", {
    query: Doc.pageQuery({}),
    example: { query: { limit: 20 } },
    answer: () => Doc.page(Validation, "The current validations, sorted by endpoint and format"),
    async handle({ query }) {
      const { cursor = "" } = query;
      const rest = validations.list().filter((row) => nameOf(row) > cursor);
      return presentPage(cutPage(rest, query, nameOf), presentValidation);
    },
  });

  route(`GET ${VALIDATIONS_PATH}/:endpoint`, OPERATOR, "Get a validation", {
    query: ReadQuery,
    description:
      "The document exactly as it was uploaded: JSON, or XML when the endpoint has an XML Schema and you ask for it.",
    example: { params: EXAMPLE_ENDPOINT },
    answer: () => ({
      description: "The document",
      schema: Doc.Anything,
      example: EXAMPLE.validation,
      headers: Doc.ETAG,
    }),
    async handle(request, reply) {
      const endpoint = readEndpoint(request);
      const { version } = request.query;
      if (version !== undefined) return sendDocument(reply, await validations.getVersion(endpoint, version), version);
      // Read first, so that the ETag is never newer than the document.
      const latest = await validations.latestVersion(endpoint);
      const found = validations.get(endpoint, request.query.format ?? preferredFormat(request, validations, endpoint));
      return sendDocument(reply, found, latest ?? found.version);
    },
  });

  // Bodies stay bytes, so that a document is kept unchanged.
  void app.register(async (raw) => {
    const route = routesOf(raw, "Validations");
    takeBytes(raw);
    route(`PUT ${VALIDATIONS_PATH}/:endpoint`, OPERATOR, "Create or replace a validation", {
      body: Document,
      description:
        "The document is compiled first and then takes effect at once. An invalid document is rejected, and the " +
        "previous one stays.",
      example: { params: EXAMPLE_ENDPOINT, body: EXAMPLE.validation },
      headers: { ...Doc.IF_MATCH, ...Doc.IF_NONE_MATCH },
      answer: () => ({ description: "The document is in effect", schema: Doc.closed(updated), headers: Doc.ETAG }),
      errors: ["bad_request", "invalid_validation", "conflict", "precondition_failed", "unsupported_content_type"],
      async handle(request, reply) {
        const endpoint = readEndpoint(request);
        const document = readBytes(request);
        const format = readFormat(document, request.headers["content-type"]);
        const input = { endpoint, format, document, by: callerOf(request) };
        const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = request.headers;
        const { latestVersion: version } = await validations.put(input, { ifMatch, ifNoneMatch });
        return reply.header("etag", etagOf({ version })).send({ status: "validation_updated", endpoint });
      },
    });
  });

  route(`DELETE ${VALIDATIONS_PATH}/:endpoint`, OPERATOR, "Delete a validation", {
    query: DeleteQuery,
    description:
      "Deletes both formats, or the one that you name. The deletion is a version, too, so it can be rolled back.",
    example: { params: EXAMPLE_ENDPOINT },
    headers: Doc.IF_MATCH,
    answer: () => ({ status: 204, description: "Deleted; it is no longer in effect" }),
    errors: ["bad_request", "precondition_failed"],
    async handle(request, reply) {
      const endpoint = readEndpoint(request);
      await validations.remove(endpoint, request.query.format, callerOf(request), request.headers["if-match"]);
      return reply.code(204).send();
    },
  });

  route(`GET ${VALIDATIONS_PATH}/:endpoint/versions`, OPERATOR, "List the versions of a validation", {
    query: VersionsQuery,
    example: { params: EXAMPLE_ENDPOINT, query: { limit: 20 } },
    answer: () => Doc.page(ValidationVersion, "Versions, latest first; none is ever overwritten"),
    async handle(request) {
      const endpoint = readEndpoint(request);
      const inForce = new Set(
        validations
          .list()
          .filter((row) => row.endpoint === endpoint)
          .map(({ version }) => version),
      );
      const page = await validations.versions(endpoint, pageOf(request.query));
      return presentPage(page, (row) =>
        presentAs(ValidationVersion, { ...row, deleted: row.isDeleted, inForce: inForce.has(row.version) }),
      );
    },
  });

  route(`POST ${VALIDATIONS_PATH}/:endpoint/rollback`, OPERATOR, "Roll a validation back to an earlier version", {
    body: RollbackBody,
    example: { params: EXAMPLE_ENDPOINT, body: { version: 1 } },
    headers: Doc.IF_MATCH,
    answer: () => ({
      description: "The restored document, as a new version",
      schema: Doc.closed({
        ...updated,
        version: Type.With(version, { examples: [3] }),
        restored_from: Type.With(version, { examples: [1] }),
      }),
      headers: Doc.ETAG,
    }),
    errors: ["bad_request", "invalid_validation", "precondition_failed"],
    async handle(request, reply) {
      const endpoint = readEndpoint(request);
      const { version: from } = request.body;
      const by = callerOf(request);
      const { version, latestVersion } = await validations.rollBack(endpoint, from, by, request.headers["if-match"]);
      return reply
        .header("etag", etagOf({ version: latestVersion }))
        .send({ status: "validation_updated", endpoint, version, restored_from: from });
    },
  });
}

interface EndpointParams {
  endpoint: string;
}

/** Bodies of any type, unparsed. */
function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

function readBytes({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : NOTHING;
}

function readEndpoint({ params }: FastifyRequest): string {
  const { endpoint } = params as EndpointParams;
  if (isSourceName(endpoint)) return endpoint;
  const shown = JSON.stringify(endpoint.slice(0, 70));
  throw new PosthornError("bad_request", `${shown} is not an endpoint. Write ${SOURCE_NAME_WORDS}.`, {
    field: "endpoint",
  });
}

function readFormat(document: Buffer, contentType: string | undefined): ValidationFormat {
  const { format } = findBodyKind(document, contentType);
  if (format === "json") return "json";
  if (format === "xml") return "xsd";
  throw new PosthornError(
    "unsupported_content_type",
    "Send a JSON Schema or rules as application/json, an XML Schema as application/xml.",
  );
}

/** If both formats exist, the one that was asked for. */
function preferredFormat(
  { headers }: FastifyRequest,
  validations: Validations,
  endpoint: string,
): ValidationFormat | undefined {
  const wantsXml = /[/+]xml/.test(headers.accept ?? "") && !/[/+]json/.test(headers.accept ?? "");
  const hasXsd = validations.list().some((row) => row.endpoint === endpoint && row.format === "xsd");
  return wantsXml && hasXsd ? "xsd" : undefined;
}

function sendDocument(
  reply: FastifyReply,
  { document, format }: Pick<LiveValidation, "document" | "format">,
  version: number,
): FastifyReply {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.length);
  return reply.header("etag", etagOf({ version })).type(CONTENT_TYPES[format]).send(bytes);
}

function callerOf({ caller }: FastifyRequest): string {
  return caller?.keyId ?? "unknown";
}

function nameOf({ endpoint, format }: LiveValidation): string {
  return `${endpoint}.${format}`;
}

function presentValidation(row: LiveValidation) {
  return presentAs(Validation, { ...row, size: row.document.length });
}

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

type Tried = Pick<Validation, "format" | "document" | "hash">;

interface Trial {
  body: Buffer;
  contentType: string | undefined;
  /** Undefined: the current validation. */
  instead: Tried | undefined;
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
  const instead = toTried(validation);
  if (contentType === undefined && instead.format === "json") {
    return { body: Buffer.from(JSON.stringify(payload)), contentType: "application/json", instead };
  }
  if (typeof payload !== "string") throw invalid("payload", "must be a string that holds XML");
  return { body: Buffer.from(payload), contentType: contentType ?? "application/xml", instead };
}

/** An object, true or false is JSON; a string is XML. */
function toTried(validation: unknown): Tried {
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
