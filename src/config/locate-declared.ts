import type { DeclaredFault } from "../model/declared-fault.ts";
import { PosthornError } from "../model/errors.ts";
import { createConfigError, type LoadedConfig } from "./load.ts";

/** Adds the file and line of the declaration to an error of the gateway about a declared item. */
export function locateDeclared(error: unknown, { placeOf }: Pick<LoadedConfig, "placeOf">): unknown {
  const fault = error instanceof PosthornError ? (error.details?.["declared"] as DeclaredFault | undefined) : undefined;
  if (fault === undefined) return error;
  const { noun, name, field = "", message } = fault;
  const found = placeOf(`${noun.replaceAll(" ", "_")}s`, name, field);
  if (found === undefined) return error;
  const { place, path } = found;
  return createConfigError([{ place, path: `${path} (${name})`, message: withoutField(message, field) }]);
}

/** Some messages begin with the field's name. */
function withoutField(message: string, field: string): string {
  return message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
}
