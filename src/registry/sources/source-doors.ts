import { HEADER_SECRET, TEXT_SECRET, type SecretForm } from "../../domain/secret-form.ts";
import type { SourceKindRules } from "../../domain/source.ts";
import type { FieldProblem } from "../../domain/subscription-rules.ts";
import type { SourceState } from "./source-settings.ts";

/**
 * Whether the secrets and tokens of a source are strong enough. New weak ones are rejected. Weak ones that an earlier
 * release accepted are ignored; when no strong one is left, the source is locked.
 */
export interface Doors {
  /** The secrets that are strong enough. */
  readonly secrets: readonly string[];
  /** What is wrong with the other secrets, the token or the path; undefined when all are strong. */
  readonly weakness: string | undefined;
  readonly isLocked: boolean;
}

export function secretFormOf(
  kind: SourceKindRules | undefined,
  options: Readonly<Record<string, unknown>>,
): SecretForm {
  return kind?.secretForm?.(options) ?? TEXT_SECRET;
}

export function checkSecrets(form: SecretForm, secrets: readonly string[]): FieldProblem[] {
  return secrets.flatMap((secret, index) => {
    const message = form.findProblem(secret);
    return message === undefined ? [] : [{ field: `secrets[${index}]`, message }];
  });
}

export function checkToken(token: string | undefined): FieldProblem[] {
  return describe("auth.token", token, HEADER_SECRET);
}

export function checkPathToken(token: string | undefined): FieldProblem[] {
  return describe("path_token", token, TEXT_SECRET);
}

function describe(field: string, text: string | undefined, form: SecretForm): FieldProblem[] {
  const message = text === undefined ? undefined : form.findProblem(text);
  return message === undefined ? [] : [{ field, message }];
}

export function judgeDoors(state: SourceState, kind: SourceKindRules | undefined): Doors {
  const all = state.secrets.map(({ secret }) => secret);
  const usesSecrets = kind?.needsSecret === true || kind?.secretForm !== undefined;
  const form = secretFormOf(kind, state.options);
  const ofSecrets = usesSecrets ? checkSecrets(form, all) : [];
  const secrets = ofSecrets.length === 0 ? all : all.filter((secret) => form.findProblem(secret) === undefined);
  const ofTokens = [...checkToken(state.auth?.token), ...checkPathToken(state.pathToken)];
  const problems = [...ofSecrets, ...ofTokens];
  return {
    secrets,
    weakness:
      problems.length === 0 ? undefined : problems.map(({ field, message }) => `${field}: ${message}`).join(". "),
    isLocked: ofTokens.length > 0 || (ofSecrets.length > 0 && secrets.length === 0),
  };
}
