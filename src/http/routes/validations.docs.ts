import { Type } from "typebox";
import { VALIDATION_FORMATS } from "../../domain/validation.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  ETAG,
  IF_MATCH,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  page,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

const endpoint = text(EXAMPLE.endpoint);
const version = Type.Integer({
  minimum: 1,
  description: "One sequence for both formats of an endpoint",
  examples: [2],
});
const made = {
  format: oneOf(VALIDATION_FORMATS, "`json`: a JSON Schema, rules or both; `xsd`: an XML Schema"),
  size: count(87),
  created_at: Time,
  created_by: text(EXAMPLE.key, "The id of a key, or `folder`"),
};

export const Validation = named("Validation", closed({ endpoint, version, ...made }));

export const ValidationVersion = named(
  "ValidationVersion",
  closed({
    version,
    ...made,
    deleted: Type.Boolean({ description: "Whether this version ended the one before" }),
    restored_from: nullable(Type.Integer({ description: "The version that it brought back" })),
    in_force: Type.Boolean({ examples: [true] }),
  }),
);

export const TryOut = named(
  "ValidationTryOut",
  closed({
    valid: Type.Boolean(),
    endpoint,
    validation: nullable(
      text(EXAMPLE.endpoint, "Whose validation it was: the endpoint's own or `default`; null where there is none"),
    ),
    errors: Type.Array(
      closed({
        path: text("/order_id", "JSON Pointer; in XML an XPath"),
        message: text("must be integer"),
        line: Type.Optional(Type.Integer({ description: "In XML" })),
      }),
      { description: "At most 100" },
    ),
  }),
);

const params = { endpoint: EXAMPLE.endpoint };
const updated = { status: Type.Literal("validation_updated"), endpoint };

export const VALIDATION_DOCS: AreaDocs = {
  tag: "Validations",
  description: "What the webhooks of an endpoint must be like: JSON Schema, XML Schema or rules",
  operations: {
    "GET /validations": {
      query: { limit: 20 },
      answer: page(Validation, "What is in force, by endpoint and format"),
    },
    "GET /validations/:endpoint": {
      description:
        "The document as it was given: JSON, or XML where the endpoint has an XML Schema and is asked for it.",
      params,
      answer: {
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
      answer: { description: "In force", schema: closed(updated), headers: ETAG },
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
      answer: page(ValidationVersion, "The latest first; nothing is ever overwritten"),
    },
    "POST /validations/:endpoint/rollback": {
      params,
      request: { version: 1 },
      headers: IF_MATCH,
      answer: {
        description: "In force, as a new version",
        schema: closed({
          ...updated,
          version: Type.With(version, { examples: [3] }),
          restored_from: Type.With(version, { examples: [1] }),
        }),
        headers: ETAG,
      },
      errors: ["bad_request", "invalid_validation", "precondition_failed"],
    },
    "POST /validations/:endpoint/test": {
      description: "What would become of a webhook. Nothing is stored.",
      params,
      request: { order_id: "1001" },
      answer: { description: "What is wrong with it, if anything", schema: TryOut },
      errors: ["bad_request", "invalid_validation"],
    },
  },
};
