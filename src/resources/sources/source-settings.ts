import { parseAllowedIps } from "../../model/allowed-ips.ts";
import { isCredentialHeader } from "../../model/credential-header.ts";
import { DEFAULT_CONNECTION, type BrokerKind } from "../../model/connection.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { parseMask } from "../../model/masking.ts";
import { parsePointer } from "../../model/json-pointer.ts";
import { parsePattern } from "../../model/pattern.ts";
import { MASK } from "../../model/mask.ts";
import { describeQueue } from "../../model/queue-place.ts";
import { fillIn } from "../../model/shape.ts";
import {
  GENERIC_KIND,
  type HiddenTexts,
  type Place,
  type Source,
  type SourceGate,
  SourceInput,
  type SourceKindRules,
} from "../../model/source.ts";
import type { SourceSecret } from "../../model/source-secrets.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import type { SecretBox } from "../secret-box.ts";

/** The settings of a source and how they are stored: credentials are encrypted. */

/** Without the encrypted settings and those that have a field of their own. */
type Shown = Omit<SourceInput, "secrets" | "auth" | "path_token" | "options">;

export interface SourceState {
  shown: Shown;
  auth: { header: string; token: string } | undefined;
  options: Readonly<Record<string, unknown>>;
  pathToken: string | undefined;
  secrets: readonly SourceSecret[];
  /** The secrets in the last configuration: rotated secrets stay until the configuration changes them. */
  declaredSecrets: readonly string[] | undefined;
}

/** The stored settings of a source, without its name. */
interface StoredSettings extends Omit<Shown, "name"> {
  managedBy: ManagedBy;
  /** Base64 of an encrypted `Hidden`; absent when there are no credentials. */
  sealed?: string;
  /** The queue from which it reads this gateway's own messages; for the view `event_log`, which cannot decrypt. */
  ownQueue?: string;
}

type Hidden = Pick<SourceState, "auth" | "options" | "pathToken" | "secrets" | "declaredSecrets">;

export function writeState(state: SourceState, managedBy: ManagedBy, box: SecretBox): string {
  const { shown, ...hidden } = state;
  const { name: _, ...rest } = shown;
  const isPlain =
    hidden.auth === undefined &&
    hidden.pathToken === undefined &&
    hidden.secrets.length === 0 &&
    Object.keys(hidden.options).length === 0;
  if (isPlain) return JSON.stringify({ ...rest, managedBy } satisfies StoredSettings);
  const sealed = Buffer.from(box.seal(JSON.stringify(hidden satisfies Hidden), ownerOf(shown))).toString("base64");
  const ownQueue = findOwnQueue(state);
  const shownQueue = ownQueue === undefined ? {} : { ownQueue };
  return JSON.stringify({ ...rest, managedBy, sealed, ...shownQueue } satisfies StoredSettings);
}

function findOwnQueue({ shown: { kind = "" }, options }: SourceState): string | undefined {
  const { own, queue, connection = DEFAULT_CONNECTION } = options;
  return own === "take" ? describeQueue(kind as BrokerKind, String(connection), String(queue)) : undefined;
}

export function readState(name: string, text: string, box: SecretBox): { state: SourceState; managedBy: ManagedBy } {
  const { sealed, managedBy, ownQueue: _, ...rest } = JSON.parse(text) as StoredSettings;
  const shown = { ...rest, name };
  if (sealed === undefined) {
    const nothing = { auth: undefined, options: {}, pathToken: undefined, secrets: [], declaredSecrets: undefined };
    return { state: { shown, ...nothing }, managedBy };
  }
  const hidden = JSON.parse(box.open(Buffer.from(sealed, "base64"), ownerOf(shown))) as Hidden;
  const state = {
    shown,
    auth: hidden.auth,
    options: hidden.options,
    pathToken: hidden.pathToken,
    secrets: hidden.secrets.map((one) => ({ ...one, endsAt: one.endsAt })),
    declaredSecrets: hidden.declaredSecrets,
  };
  return { state, managedBy };
}

function ownerOf({ tenant_id: tenantId = DEFAULT_TENANT, name }: Pick<Shown, "tenant_id" | "name">): string {
  return `${tenantId}/source/${name}`;
}

export interface SourceDefaults {
  maxBytes: number;
  declared: boolean;
}

/** The source as the receiver uses it. */
export function toSource(state: SourceState, kind: SourceKindRules | undefined, defaults: SourceDefaults): Source {
  const { shown, auth, options, pathToken } = state;
  const set = fillIn(SourceInput.properties, shown);
  const places = [shown.id_from, shown.ordering_key_from, shown.priority_from].map(parsePlace);
  const [idFrom, orderingKeyFrom, priorityFrom] = places;
  const bodyPlaces = places.filter((place) => place?.in === "body").map(({ pointer }) => pointer);
  const only = shown.only ?? kind?.only;
  const secrets = state.secrets.map(({ secret }) => secret);
  return {
    name: shown.name,
    kind: set.kind,
    tenantId: set.tenant_id,
    status: set.status,
    maxBytes: shown.max_bytes ?? Math.max(defaults.maxBytes, kind?.maxBytes ?? 0),
    methods: set.methods,
    handshakeMethods: kind?.handshakeMethods,
    eventType: set.event_type.replaceAll("{source}", shown.name),
    typeTemplate: shown.event_type?.replaceAll("{source}", shown.name),
    idFrom,
    orderingKeyFrom,
    priorityFrom,
    pointers: [...(kind?.pointers ?? []), ...bodyPlaces],
    only: only?.map(parsePattern),
    answerWithinMs: set.answer_within === null ? undefined : set.answer_within * 1000,
    queuedStatus: set.kind === GENERIC_KIND ? 202 : (kind?.queuedStatus ?? 200),
    gate: toGate(shown, auth),
    refusesReplays: set.refuse_replays && kind?.replayMark !== undefined,
    pathToken,
    mask: parseMask(shown.mask, kind?.mask),
    hidden: toHidden(state),
    settings: { source: shown.name, secrets, options, manifest: shown.manifest ?? undefined },
    declared: defaults.declared,
    lastRequestAt: 0,
  };
}

function toGate({ allowed_ips: ips, content_types: types }: Shown, auth: SourceState["auth"]): SourceGate | undefined {
  if (!Array.isArray(ips) && !Array.isArray(types) && auth === undefined) return undefined;
  return {
    allowedIps: Array.isArray(ips) ? parseAllowedIps(ips) : undefined,
    contentTypes: Array.isArray(types) ? types.map((type) => type.toLowerCase()) : undefined,
    auth: auth === undefined ? undefined : { header: auth.header.toLowerCase(), token: auth.token },
  };
}

function toHidden({ auth, pathToken, options, secrets }: SourceState): HiddenTexts | undefined {
  const ofOptions = Object.entries(options).flatMap(([name, value]) =>
    isCredentialOption(name) && typeof value === "string" && value !== "" ? [value] : [],
  );
  const texts = [...secrets.map(({ secret }) => secret), ...ofOptions];
  if (auth !== undefined) texts.push(auth.token);
  if (pathToken !== undefined) texts.push(pathToken);
  return texts.length === 0 ? undefined : { header: auth?.header.toLowerCase(), texts };
}

/** Whether a kind's setting is a secret, judged by its name. Names of headers and encodings of secrets are not. */
export function isCredentialOption(name: string): boolean {
  return isCredentialHeader(name) && !/_(header|encoding)$/.test(name);
}

/** Shows which credentials there are, without their values. */
export function showHidden({ auth, options, pathToken, secrets }: SourceState): Readonly<Record<string, unknown>> {
  return {
    auth: auth && { header: auth.header, token: MASK },
    options: maskOptions(options),
    path_token: pathToken && MASK,
    secrets: secrets.map(({ id, endsAt }) => ({ id, ends_at: endsAt })),
  };
}

export function maskOptions(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(options);
  return Object.fromEntries(entries.map(([name, value]) => [name, isCredentialOption(name) ? MASK : value]));
}

function parsePlace(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const [where, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  return where === "header" ? { in: "header", name: rest.toLowerCase() } : { in: "body", pointer: parsePointer(rest) };
}
