import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { isSourceName, SOURCE_NAME_WORDS } from "../../model/source.ts";
import { VALIDATION_FORMATS, type ValidationFormat } from "../../model/validation.ts";
import type { Validations } from "../../resources/validations/validations.ts";
import { findBodyKind } from "../../sandbox/text/content-type.ts";
import { etagOf } from "../../resources/resource.ts";
import type { LiveValidation, ValidationVersion } from "../../resources/validations/validation-records.ts";
import { isoTime } from "../present/time.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const Format = Type.Optional(Type.Union(VALIDATION_FORMATS.map((format) => Type.Literal(format))));
const Version = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const ListQuery = Type.Object(PageQuery, { additionalProperties: false });
const ReadQuery = Type.Object({ format: Format, version: Type.Optional(Version) }, { additionalProperties: false });
const DeleteQuery = Type.Object({ format: Format }, { additionalProperties: false });
const VersionsQuery = Type.Object(
  {
    limit: PageQuery.limit,
    cursor: Type.Optional(
      Type.String({ pattern: "^[1-9][0-9]{0,14}$", description: "`next_cursor` of the previous page" }),
    ),
  },
  { additionalProperties: false },
);
const RollbackBody = Type.Object({ version: Version }, { additionalProperties: false });
/** May be of several content types, and is stored unchanged. */
const Document = Type.Unknown({
  description:
    "A JSON Schema or rules as `application/json`, or an XML Schema as `application/xml`; at most 256 KB, and 32 " +
    "levels deep",
});

export const VALIDATIONS_PATH = "/validations";
/** Validations belong to the whole gateway. */
const OPERATOR = { scope: "admin", unbound: true } as const;
const CONTENT_TYPES: Readonly<Record<ValidationFormat, string>> = { json: "application/json", xsd: "application/xml" };
const NOTHING = Buffer.alloc(0);

export function addValidationRoutes(app: FastifyInstance, { validations }: { validations: Validations }): void {
  app.get<{ Querystring: Static<typeof ListQuery> }>(
    VALIDATIONS_PATH,
    { config: OPERATOR, schema: { summary: "List validations", querystring: ListQuery } },
    async ({ query }) => {
      const { limit, cursor = "" } = pageOf(query);
      const rest = validations.list().filter((row) => nameOf(row) > cursor);
      const rows = rest.slice(0, limit);
      const last = rows.at(-1);
      const nextCursor = rest.length > limit && last !== undefined ? nameOf(last) : undefined;
      return presentPage({ rows, nextCursor }, presentValidation);
    },
  );

  app.get<{ Params: EndpointParams; Querystring: Static<typeof ReadQuery> }>(
    `${VALIDATIONS_PATH}/:endpoint`,
    { config: OPERATOR, schema: { summary: "Get a validation", querystring: ReadQuery } },
    async (request, reply) => {
      const endpoint = readEndpoint(request);
      const { version } = request.query;
      if (version !== undefined) return sendDocument(reply, await validations.getVersion(endpoint, version), version);
      // Read first, so that the ETag is never newer than the document.
      const latest = await validations.latestVersion(endpoint);
      const found = validations.get(endpoint, request.query.format ?? preferredFormat(request, validations, endpoint));
      return sendDocument(reply, found, latest ?? found.version);
    },
  );

  // Bodies stay bytes, so that a document is kept unchanged.
  void app.register(async (raw) => {
    takeBytes(raw);
    raw.put<{ Params: EndpointParams }>(
      `${VALIDATIONS_PATH}/:endpoint`,
      { config: OPERATOR, schema: { summary: "Create or replace a validation", body: Document } },
      async (request, reply) => {
        const endpoint = readEndpoint(request);
        const document = readBytes(request);
        const format = readFormat(document, request.headers["content-type"]);
        const input = { endpoint, format, document, by: callerOf(request) };
        const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = request.headers;
        const { latestVersion: version } = await validations.put(input, { ifMatch, ifNoneMatch });
        return reply.header("etag", etagOf({ version })).send({ status: "validation_updated", endpoint });
      },
    );
  });

  app.delete<{ Params: EndpointParams; Querystring: Static<typeof DeleteQuery> }>(
    `${VALIDATIONS_PATH}/:endpoint`,
    { config: OPERATOR, schema: { summary: "Delete a validation", querystring: DeleteQuery } },
    async (request, reply) => {
      const endpoint = readEndpoint(request);
      await validations.remove(endpoint, request.query.format, callerOf(request), request.headers["if-match"]);
      return reply.code(204).send();
    },
  );

  app.get<{ Params: EndpointParams; Querystring: Static<typeof VersionsQuery> }>(
    `${VALIDATIONS_PATH}/:endpoint/versions`,
    { config: OPERATOR, schema: { summary: "List the versions of a validation", querystring: VersionsQuery } },
    async (request) => {
      const endpoint = readEndpoint(request);
      const inForce = new Set(
        validations
          .list()
          .filter((row) => row.endpoint === endpoint)
          .map(({ version }) => version),
      );
      const page = await validations.versions(endpoint, pageOf(request.query));
      return presentPage(page, (row) => ({ ...presentVersion(row), in_force: inForce.has(row.version) }));
    },
  );

  app.post<{ Params: EndpointParams; Body: Static<typeof RollbackBody> }>(
    `${VALIDATIONS_PATH}/:endpoint/rollback`,
    { config: OPERATOR, schema: { summary: "Roll a validation back to an earlier version", body: RollbackBody } },
    async (request, reply) => {
      const endpoint = readEndpoint(request);
      const { version: from } = request.body;
      const by = callerOf(request);
      const { version, latestVersion } = await validations.rollBack(endpoint, from, by, request.headers["if-match"]);
      return reply
        .header("etag", etagOf({ version: latestVersion }))
        .send({ status: "validation_updated", endpoint, version, restored_from: from });
    },
  );
}

export interface EndpointParams {
  endpoint: string;
}

/** Bodies of any type, unparsed. */
export function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

export function readBytes({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : NOTHING;
}

export function readEndpoint({ params }: FastifyRequest): string {
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
  const { endpoint, format, version, document, createdAt, createdBy } = row;
  return { endpoint, format, version, size: document.length, created_at: isoTime(createdAt), created_by: createdBy };
}

function presentVersion(row: ValidationVersion) {
  const { version, format, isDeleted, size, restoredFrom, createdAt, createdBy } = row;
  return {
    version,
    format,
    deleted: isDeleted,
    size,
    restored_from: restoredFrom ?? null,
    created_at: isoTime(createdAt),
    created_by: createdBy,
  };
}
