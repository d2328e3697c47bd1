import { Type } from "typebox";
import { VALIDATION_FORMATS } from "../../model/validation.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  ETAG,
  IF_MATCH,
  IF_NONE_MATCH,
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
  description: "Both formats of an endpoint share one sequence of numbers",
  examples: [2],
});
const made = {
  format: oneOf(VALIDATION_FORMATS, "`json`: a JSON Schema, rules or both; `xsd`: an XML Schema"),
  size: count(87),
  created_at: Time,
  created_by: text(EXAMPLE.key, "The id of the API key, or `folder`"),
};

const Validation = named("Validation", closed({ endpoint, version, ...made }));

const ValidationVersion = named(
  "ValidationVersion",
  closed({
    version,
    ...made,
    deleted: Type.Boolean({ description: "Whether this version records that the validation was deleted" }),
    restored_from: nullable(Type.Integer({ description: "The version that was restored" })),
    in_force: Type.Boolean({ examples: [true] }),
  }),
);

const TryOut = named(
  "ValidationTryOut",
  closed({
    valid: Type.Boolean(),
    endpoint,
    validation: nullable(
      text(EXAMPLE.endpoint, "Which validation was used: the endpoint's own or `default`; null when there is none"),
    ),
    errors: Type.Array(
      closed({
        path: text("/order_id", "A JSON Pointer; for XML, an XPath"),
        message: text("must be integer"),
        line: Type.Optional(Type.Integer({ description: "In XML" })),
      }),
      { description: "At most 100 errors" },
    ),
  }),
);

const params = { endpoint: EXAMPLE.endpoint };
const updated = { status: Type.Literal("validation_updated"), endpoint };

export const VALIDATION_DOCS: AreaDocs = {
  tag: "Validations",
  description:
    "Rules for the webhooks of an endpoint: a JSON Schema, an XML Schema or rules of the gateway's own format",
  operations: {
    "GET /validations": {
      query: { limit: 20 },
      answer: page(Validation, "The current validations, sorted by endpoint and format"),
    },
    "GET /validations/:endpoint": {
      description:
        "The document exactly as it was uploaded: JSON, or XML when the endpoint has an XML Schema and you ask for it.",
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
        "The document is compiled first and then takes effect at once. An invalid document is rejected, and the " +
        "previous one stays.",
      params,
      request: EXAMPLE.validation,
      headers: { ...IF_MATCH, ...IF_NONE_MATCH },
      answer: { description: "The document is in effect", schema: closed(updated), headers: ETAG },
      errors: ["bad_request", "invalid_validation", "conflict", "precondition_failed", "unsupported_content_type"],
    },
    "DELETE /validations/:endpoint": {
      description:
        "Deletes both formats, or the one that you name. The deletion is a version, too, so it can be rolled back.",
      params,
      headers: IF_MATCH,
      answer: { status: 204, description: "Deleted; it is no longer in effect" },
      errors: ["bad_request", "precondition_failed"],
    },
    "GET /validations/:endpoint/versions": {
      params,
      query: { limit: 20 },
      answer: page(ValidationVersion, "Versions, latest first; none is ever overwritten"),
    },
    "POST /validations/:endpoint/rollback": {
      params,
      request: { version: 1 },
      headers: IF_MATCH,
      answer: {
        description: "The restored document, as a new version",
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
      description: "Shows how a webhook would be validated. Nothing is stored.",
      params,
      request: { order_id: "1001" },
      answer: { description: "The result, with the errors found", schema: TryOut },
      errors: ["bad_request", "invalid_validation"],
    },
  },
};
