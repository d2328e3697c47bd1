import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import type { FastifySchemaCompiler } from "fastify";
import { PosthornError } from "../domain/errors.ts";

const options = { useDefaults: false, removeAdditional: false, allErrors: false } as const;
const bodies = new Ajv(options);
/** What stands in a URL is text; numbers and booleans are read out of it. */
const parameters = new Ajv({ ...options, coerceTypes: true, useDefaults: true });
for (const ajv of [bodies, parameters]) {
  ajv.addKeyword("example");
  addFormats.default(ajv);
}

/** Says which field is wrong, and how. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const validate = (httpPart === "body" ? bodies : parameters).compile(schema);
  return (data) => {
    if (validate(data)) return { value: data };
    return { error: explain(validate) };
  };
};

function explain(validate: ValidateFunction): Error {
  // A failed union lists every branch; the deepest complaint is nearest to what was meant.
  const errors = validate.errors ?? [];
  const error = errors.reduce(
    (best, one) => (one.instancePath.length > best.instancePath.length ? one : best),
    errors[0] as ErrorObject,
  );
  const field = fieldOf(error);
  return new PosthornError("invalid_field", `${field === "" ? "The body" : field} ${describe(error)}.`, { field });
}

function fieldOf({ instancePath, params, keyword }: ErrorObject): string {
  const path = instancePath.split("/").slice(1);
  if (keyword === "required") path.push(String(params["missingProperty"]));
  if (keyword === "additionalProperties") path.push(String(params["additionalProperty"]));
  return path.join(".");
}

function describe(error: ErrorObject): string {
  if (error.keyword === "required") return "is missing";
  if (error.keyword === "additionalProperties") return "is not a known field";
  return error.message ?? "is not valid";
}
