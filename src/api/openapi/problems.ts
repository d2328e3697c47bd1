import { Type } from "typebox";
import { describeError } from "../../intake/problem.ts";
import { ERRORS, invalidField, type ErrorCode } from "../../model/errors.ts";
import type { DocumentedRoute } from "../routes/route.ts";
import type { SchemaWriter } from "./schema-writer.ts";
import * as Doc from "./shapes.ts";

/** RFC 9457; an error may add members of its own. */
export const Problem = Doc.named(
  "Problem",
  Type.Object(
    {
      type: Doc.textOf("`urn:posthorn:error:` followed by the code"),
      title: Type.String(),
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      code: Type.Enum(Object.keys(ERRORS), { description: "A stable code; docs/reference/errors.md explains each" }),
      detail: Doc.textOf("What was wrong, with which value, and what to do"),
      field: Type.Optional(Doc.textOf("The invalid field")),
      request_id: Type.Optional(
        Doc.textOf(
          "Of a rejected webhook that was stored: `GET /api/v1/requests/{id}` shows it. With `internal_error`: in the gateway's log",
        ),
      ),
    },
    {
      additionalProperties: true,
      description: "What went wrong (RFC 9457)",
      examples: [describeError(invalidField("name", "name is missing."))],
    },
  ),
);

/** The errors that all routes of a kind can have. */
export function errorsOf({ url, schema, config }: DocumentedRoute): ErrorCode[] {
  const errors: ErrorCode[] = [];
  const hasBody = schema?.body !== undefined;
  if (hasBody) errors.push("unreadable_body", "too_large", "unsupported_encoding", "unsupported_content_type");
  if (config.scope !== undefined) errors.push("unauthorized", "forbidden", "too_many_requests");
  if (config.scope !== undefined && url.includes(":")) errors.push("not_found");
  if (hasBody || schema?.querystring !== undefined || schema?.params !== undefined) errors.push("invalid_field");
  return errors;
}

export function describeProblems(codes: readonly ErrorCode[], writer: SchemaWriter): Doc.Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const schema = writer.write(Problem);
  const entries = [...byStatus].map(([status, of]) => [
    String(status),
    {
      description: of.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
      content: { "application/problem+json": { schema } },
    },
  ]);
  const trouble = { description: "An error inside the gateway", content: { "application/problem+json": { schema } } };
  return { ...Object.fromEntries(entries), default: trouble };
}
