import { Type } from "typebox";
import { VALIDATION_FORMATS } from "../../domain/validation.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Count,
  ETAG,
  IF_MATCH,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

const Version = Type.Integer({ minimum: 1, description: "One sequence for both formats of an endpoint" });
const format = oneOf(VALIDATION_FORMATS, "`json`: a JSON Schema, rules or both; `xsd`: an XML Schema");
const created_by = Type.String({ description: "The id of a key, or `folder`" });

const ValidationDocs = named(
  "Validation",
  closed({ endpoint: Type.String(), format, version: Version, size: Count, created_at: Time, created_by }),
);

const ValidationVersion = named(
  "ValidationVersion",
  closed({
    version: Version,
    format,
    deleted: Type.Boolean({ description: "Whether this version ended the one before" }),
    size: Count,
    restored_from: nullable(Type.Integer({ description: "The version that it brought back" })),
    created_at: Time,
    created_by,
    in_force: Type.Boolean(),
  }),
);

const Updated = {
  status: Type.Literal("validation_updated"),
  endpoint: Type.String(),
};

const TryOut = named(
  "ValidationTryOut",
  closed({
    valid: Type.Boolean(),
    endpoint: Type.String(),
    validation: nullable(
      Type.String({
        description: "Whose validation it was: the endpoint's own or `default`; null where there is none",
      }),
    ),
    errors: Type.Array(
      closed({
        path: Type.String({ description: "JSON Pointer; in XML an XPath" }),
        message: Type.String(),
        line: Type.Optional(Type.Integer({ description: "In XML" })),
      }),
      { description: "At most 100" },
    ),
  }),
);

const endpoint = EXAMPLE.endpoint;
const params = { endpoint };
const made = { created_at: EXAMPLE.time, created_by: EXAMPLE.key };
const VALIDATION = { endpoint, format: "json", version: 2, size: 87, ...made };
const VERSION = { version: 2, format: "json", deleted: false, size: 87, restored_from: null, ...made, in_force: true };

export const VALIDATION_DOCS: AreaDocs = {
  tag: "Validations",
  description: "What the webhooks of an endpoint must be like: JSON Schema, XML Schema or rules",
  operations: {
    "GET /validations": {
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "What is in force, by endpoint and format",
        schema: pageSchema(ValidationDocs),
        example: pageExample(VALIDATION),
      },
    },
    "GET /validations/:endpoint": {
      description:
        "The document as it was given: JSON, or XML where the endpoint has an XML Schema and is asked for it.",
      params,
      answer: {
        status: 200,
        description: "The document",
        schema: Anything,
        example: EXAMPLE.validation,
        headers: ETAG,
      },
    },
    "PUT /validations/:endpoint": {
      description:
        "It is compiled first, and takes effect at once. What cannot be used is refused, and the one before stays.",
      params,
      request: EXAMPLE.validation,
      headers: IF_MATCH,
      answer: {
        status: 200,
        description: "In force",
        schema: closed(Updated),
        example: { status: "validation_updated", endpoint },
        headers: ETAG,
      },
      errors: ["bad_request", "invalid_validation", "conflict", "precondition_failed", "unsupported_encoding"],
    },
    "DELETE /validations/:endpoint": {
      description: "Both formats, or the one that is named. That it ended is a version too: it can be brought back.",
      params,
      headers: IF_MATCH,
      answer: { status: 204, description: "No longer in force" },
      errors: ["bad_request", "precondition_failed"],
    },
    "GET /validations/:endpoint/versions": {
      params,
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "The latest first; nothing is ever overwritten",
        schema: pageSchema(ValidationVersion),
        example: pageExample(VERSION),
      },
    },
    "POST /validations/:endpoint/rollback": {
      params,
      request: { version: 1 },
      headers: IF_MATCH,
      answer: {
        status: 200,
        description: "In force, as a new version",
        schema: closed({ ...Updated, version: Version, restored_from: Version }),
        example: { status: "validation_updated", endpoint, version: 3, restored_from: 1 },
        headers: ETAG,
      },
      errors: ["bad_request", "invalid_validation", "precondition_failed"],
    },
    "POST /validations/:endpoint/test": {
      description: "What would become of a webhook. Nothing is stored.",
      params,
      request: { order_id: "1001" },
      answer: {
        status: 200,
        description: "What is wrong with it, if anything",
        schema: TryOut,
        example: {
          valid: false,
          endpoint,
          validation: endpoint,
          errors: [{ path: "/order_id", message: "must be integer" }],
        },
      },
      errors: ["bad_request", "invalid_validation"],
    },
  },
};
