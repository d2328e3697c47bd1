import { Value } from "typebox/value";
import type { Clock, Random } from "../../model/clock.ts";
import { MASK, HEADER_SECRET, TEXT_SECRET, type SecretForm, setSecrets } from "../../model/secrets.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { describeSchemaError } from "../../model/shape.ts";
import {
  GENERIC_KIND,
  REMOVABLE,
  type SourceChange,
  type SourceInput,
  type SourceKindRules,
  checkSourceInput,
} from "../../model/source.ts";
import { problemsOf, checksOf, type FieldProblem } from "../../model/subscription-rules.ts";
import { isCredentialOption, type SourceState, type SourceRecord } from "./source-record.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { checkNamedTarget } from "../../model/hold-rules.ts";
import { rejectProblems, type Entry } from "../resource.ts";

/** Converts the input of a user to the stored state, and back. */
export function createSourceInputs(options: {
  clock: Pick<Clock, "wall">;
  random: Random;
  kinds: ReadonlyMap<string, SourceKindRules>;
}) {
  const { clock, random, kinds } = options;
  const encode = (bytes: number, encoding: "hex" | "base64" | "base64url") =>
    Buffer.from(random.bytes(bytes)).toString(encoding);
  const newSecretId = () => `sec_${encode(9, "hex")}`;

  function check(input: SourceInput, known: SourceState | undefined): void {
    const { auth, path_token: pathToken } = input;
    const problems = [...checkSourceInput(input), ...checkKind(input, known)];
    const tokens = problemsOf([
      ["auth.token", auth?.token === MASK && known?.auth === undefined && NOTHING_MASKED],
      ["path_token", pathToken === MASK && known?.pathToken === undefined && NOTHING_MASKED],
      ["auth.token", findTokenProblem(auth?.token, HEADER_SECRET)],
      ["path_token", findTokenProblem(pathToken, TEXT_SECRET)],
    ]);
    rejectProblems([...problems, ...tokens]);
  }

  function checkKind(input: SourceInput, known: SourceState | undefined): FieldProblem[] {
    const name = input.kind ?? GENERIC_KIND;
    const kind = kinds.get(name);
    if (kind === undefined) {
      return [{ field: "kind", message: `"${name}" is unknown; choose from ${[...kinds.keys()].sort().join(", ")}` }];
    }
    const isUnverified = kind.needsSecret && (input.secrets ?? known?.secrets ?? []).length === 0;
    const isMarkless = input.refuse_replays === true && kind.replayMark === undefined;
    const options = restoreOptions(input.options, known);
    if (typeof input.manifest === "object" && input.manifest !== null) kind.checkManifest?.(input.manifest);
    const able = [...kinds.values()].filter(({ replayMark }) => replayMark !== undefined).map((one) => one.name);
    return [
      ...checkOptions(kind, options),
      ...checkTheirForm(input, known, secretFormOf(kind, options)),
      ...problemsOf([
        ["secrets", isUnverified && `a source of the kind ${name} verifies with a secret; give it`],
        [
          "refuse_replays",
          isMarkless &&
            `a request of the kind ${name} cannot be recognised by its signature; this setting is for ${able.sort().join(", ")}`,
        ],
      ]),
    ];
  }

  /** With another kind or other options, stored secrets may have the wrong form. */
  function checkTheirForm({ secrets }: SourceInput, known: SourceState | undefined, form: SecretForm): FieldProblem[] {
    if (secrets !== undefined || known === undefined) return checkSecrets(form, secrets ?? []);
    const stored = known.secrets.map(({ secret }) => secret);
    const [problem] = checkSecrets(form, stored);
    if (problem === undefined) return [];
    return [{ field: "secrets", message: `one that is stored ${problem.message}. Give the secrets again` }];
  }

  function kindOf({ shown }: SourceState): SourceKindRules | undefined {
    return kinds.get(shown.kind ?? GENERIC_KIND);
  }

  function build(input: SourceInput, known: SourceState | undefined): SourceState {
    check(input, known);
    const { secrets: given, auth, path_token: pathToken, options, ...shown } = input;
    const times = { now: clock.wall(), createId: newSecretId };
    return {
      shown,
      auth: auth === undefined || auth === null ? undefined : { ...auth, token: tokenOf(auth, known) },
      options: restoreOptions(options, known),
      pathToken: toPathToken(pathToken, known?.pathToken),
      secrets: given === undefined ? (known?.secrets ?? []) : setSecrets(known?.secrets ?? [], given, times),
      declaredSecrets: known?.declaredSecrets,
    };
  }

  function toPathToken(given: SourceInput["path_token"], known: string | undefined): string | undefined {
    if (given === undefined || given === MASK) return known;
    if (given === true) return known ?? encode(24, "base64url");
    return typeof given === "string" ? given : undefined;
  }

  return {
    /** Checks a secret that is added to a source. */
    checkSecret(secret: string, known: SourceState): void {
      const problems = [
        ...checkSourceInput({ name: "any", secrets: [secret] }),
        ...checkSecrets(secretFormOf(kindOf(known), known.options), [secret]),
      ];
      rejectProblems(problems.map(({ message }) => ({ field: "secret", message })));
    },
    /** Throws `invalid_field` when the input cannot be accepted. */
    check,
    toState: build,
    /** The same for the configuration, which contains its secrets again at each start. */
    toDeclaredState(input: SourceInput, known: SourceState | undefined): SourceState {
      const { secrets } = input;
      const isSame = JSON.stringify(secrets) === JSON.stringify(known?.declaredSecrets);
      if (known === undefined || !isSame) return { ...build(input, known), declaredSecrets: secrets };
      const { secrets: _, ...rest } = input;
      return build(rest, known);
    },
    /** The current settings with a change applied; secrets and path token only when the change has them. */
    merge({ shown, auth, options }: SourceState, change: SourceChange): SourceInput {
      const merged = { ...shown, options: { ...options }, ...(auth && { auth }), ...change };
      for (const name of REMOVABLE) if (merged[name] === null) delete merged[name];
      return merged as SourceInput;
    },
    /** Generates a secret in the kind's form. Throws `invalid_field` when only the provider can create one. */
    newSecret(known: SourceState): string {
      const made = secretFormOf(kindOf(known), known.options).create(random, known.secrets[0]?.secret);
      if (made !== undefined) return made;
      throw invalidField(
        "secret",
        `secret: only the provider can create a secret of the kind ${known.shown.kind}; give it`,
      );
    },
    newSecretId,
  };
}

function checkOptions(kind: SourceKindRules, options: Readonly<Record<string, unknown>>): FieldProblem[] {
  if (kind.options === undefined) {
    const [first] = Object.keys(options);
    return first === undefined ? [] : [{ field: `options.${first}`, message: `the kind ${kind.name} has no options` }];
  }
  const errors = Value.Errors(kind.options, options);
  const [error] = errors;
  if (error === undefined) return [];
  const path = error.instancePath.split("/").slice(1);
  const params = error.params as { requiredProperties?: string[]; additionalProperties?: string[] };
  const [member] = params.requiredProperties ?? params.additionalProperties ?? [];
  const field = ["options", ...path, ...(member === undefined ? [] : [member])].join(".");
  return [{ field, message: describeSchemaError(error, errors) }];
}

/** A client may send back what it was shown: a masked value stands for the stored one. */
function restoreOptions(
  given: SourceInput["options"] = {},
  known: SourceState | undefined,
): Readonly<Record<string, unknown>> {
  const restored = Object.entries(given).map(([name, value]): [string, unknown] => {
    const isMasked = value === MASK && isCredentialOption(name);
    return [name, isMasked ? (known?.options[name] ?? value) : value];
  });
  return Object.fromEntries(restored);
}

function tokenOf({ token }: { token: string }, known: SourceState | undefined): string {
  return token === MASK ? (known?.auth?.token ?? token) : token;
}

const NOTHING_MASKED = `${MASK} stands for a stored value, and there is none; give the value itself`;

/** A masked token stands for the stored one. */
function findTokenProblem(token: string | boolean | null | undefined, form: SecretForm): string | undefined {
  return typeof token !== "string" || token === MASK ? undefined : form.findProblem(token);
}

function checkSecrets(form: SecretForm, secrets: readonly string[]): FieldProblem[] {
  return problemsOf(checksOf("secrets", secrets, form.findProblem));
}

function secretFormOf(kind: SourceKindRules | undefined, options: Readonly<Record<string, unknown>>): SecretForm {
  return kind?.secretForm?.(options) ?? TEXT_SECRET;
}

/** Sources of other tenants are not found. */
export function rejectForeign(entry: Entry<SourceRecord>, tenantId: string | undefined): Entry<SourceRecord> {
  if (tenantId === undefined || entry.thing.source.tenantId === tenantId) return entry;
  throw new PosthornError("not_found", `There is no source ${entry.id}.`);
}

export function rejectOtherTenant(given: string | undefined, owner: string): void {
  if (given === undefined || given === owner) return;
  throw invalidField("tenant_id", `tenant_id: it belongs to ${owner} and cannot be changed.`);
}

/** A declared name gets its webhooks. Those of `*` belong to another tenant, which must not lose them. */
export function rejectTakeover(name: string, bound: string | undefined): void {
  if (bound === undefined || bound === DEFAULT_TENANT) return;
  throw new PosthornError(
    "forbidden",
    `Webhooks to "${name}" are accepted by the * source for the tenant ${DEFAULT_TENANT}, and a key that is bound to ` +
      `${bound} cannot take them over. Create the source with a key that is not bound to a tenant ` +
      `(tenant_id: ${bound}), or set any_source: false.`,
  );
}

/** The broker's credentials belong to the gateway, and its queue may contain messages of any tenant. */
export function rejectBound(kind: SourceKindRules | undefined, bound: string | undefined): void {
  if (bound === undefined || kind?.isPulled !== true) return;
  throw new PosthornError(
    "forbidden",
    `A source of the kind ${kind.name} reads from a broker of the gateway, and this key is bound to the tenant ` +
      `${bound}. Use an admin key that is not bound to a tenant.`,
  );
}

/** Permission to create a source is not permission to read files of this machine. */
export function rejectPath(manifest: SourceInput["manifest"], known: SourceInput["manifest"]): void {
  if (typeof manifest !== "string" || manifest === known) return;
  throw invalidField("manifest", "manifest: a path is allowed only in posthorn.yaml; give the document itself");
}

/** `targets`: the names of all targets of its tenant. */
export function rejectUnknownTarget(options: Readonly<Record<string, unknown>>, targets: readonly string[]): void {
  rejectProblems(checkNamedTarget(options, targets), ".");
}

/** Without its target, the source would never pause. */
export function targetOfSource(target: string, { name }: { name: string }): PosthornError {
  return new PosthornError(
    "conflict",
    `The source "${name}" names "${target}" as its target. Give it another \`options.target\` first, or none.`,
    { details: { source: name } },
  );
}

export function rejectClash(known: SourceRecord | undefined): void {
  if (known?.managedBy !== "api") return;
  const { name } = known.source;
  throw new PosthornError(
    "conflict",
    `The source ${name} was created by API. Delete it there, or choose another name in posthorn.yaml.`,
  );
}
