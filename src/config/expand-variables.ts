import type { Environment } from "./environment.ts";

const VARIABLE = /\$\$|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\})?/g;

export interface Expanded {
  text: string;
  /** Whether a variable took part, so that the text's type is for the schema to say. */
  hasVariable: boolean;
  errors: readonly string[];
}

/** Expands `${NAME}` and `${NAME:-default}`; as in a shell, the default also stands in for an empty value. */
export function expandVariables(template: string, env: Environment): Expanded {
  const errors: string[] = [];
  let hasVariable = false;
  const text = template.replace(VARIABLE, (found: string, name?: string, withDefault?: string, fallback?: string) => {
    if (found === "$$") return "$";
    if (name === undefined) {
      errors.push("`${` does not begin a variable; write ${NAME} or ${NAME:-default}, or $${ for the text itself");
      return found;
    }
    hasVariable = true;
    const value = env[name];
    if (withDefault !== undefined) return value === undefined || value === "" ? (fallback ?? "") : value;
    if (value !== undefined) return value;
    errors.push(`variable ${name} is not set; set it, or give a default with \${${name}:-default}`);
    return "";
  });
  return { text, hasVariable, errors };
}
