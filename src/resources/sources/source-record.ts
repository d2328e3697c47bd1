import { isDeepStrictEqual } from "node:util";
import { type Clock, startRounds } from "../../model/clock.ts";
import {
  GENERIC_KIND,
  type Source,
  type SourceKindRules,
  type HiddenTexts,
  type RequestField,
  type SourceGate,
  SourceInput,
} from "../../model/source.ts";
import { endSecrets, type SourceSecret, MASK } from "../../model/secrets.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import type { Entry, Resource } from "../resource.ts";
import type { SecretBox } from "../secret-box.ts";
import { parseAllowedIps } from "../../model/addresses.ts";
import { isCredentialHeader } from "../../model/headers.ts";
import { DEFAULT_CONNECTION, type BrokerKind, describeQueue } from "../../model/connection.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { parseMask } from "../../model/masking.ts";
import { parsePointer } from "../../model/json.ts";
import { parsePattern } from "../../model/pattern.ts";
import { fillIn } from "../../model/shape.ts";
import type { Records } from "../../store/port/records.ts";

/** A source with the settings of its owner. */
export interface SourceRecord {
  readonly source: Source;
  readonly state: SourceState;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** How sources are stored and read. */
export function createSourceRecords(options: {
  clock: Pick<Clock, "wall">;
  secretBox: SecretBox;
  kinds: ReadonlyMap<string, SourceKindRules>;
  maxBytes: number;
  /** The time of the last request, as far as this process knows; the store gets it later. */
  findLastRequestAt: (name: string) => number | undefined;
}) {
  const { clock, secretBox, kinds, maxBytes, findLastRequestAt } = options;

  function build(state: SourceState, managedBy: ManagedBy, createdAt: number, updatedAt: number): SourceRecord {
    const live = { ...state, secrets: endSecrets(state.secrets, clock.wall()) };
    const source = toSource(live, kinds.get(state.shown.kind ?? GENERIC_KIND), { maxBytes, declared: true });
    return { source, state: live, managedBy, createdAt, updatedAt };
  }

  const resource: Resource<SourceRecord> = {
    kind: "source",
    noun: "source",
    format: 1,
    // A name that was protected must not become open to everybody by its deletion.
    remembersDeleted: true,
    read({ id, data, state: use, createdAt, updatedAt }) {
      const { state, managedBy } = readState(id, data, secretBox);
      const record = build(state, managedBy, createdAt, updatedAt);
      record.source.lastRequestAt = findLastRequestAt(id) ?? readUse(use);
      return record;
    },
    write: ({ state, managedBy }) => ({ data: writeState(state, managedBy, secretBox) }),
    // Names are unique in the whole gateway, because senders know nothing of tenants.
    keyOf: ({ state }) => ({ id: state.shown.name }),
    tenantOf: ({ source }) => source.tenantId,
    show: ({ state, managedBy }) => ({ ...state.shown, ...showHidden(state), managed_by: managedBy }),
    secretsOf: ({ state }) => ({ ...state, shown: undefined }),
  };

  return {
    resource,
    toRecord: (state: SourceState, managedBy: ManagedBy) => build(state, managedBy, clock.wall(), clock.wall()),
  };
}

function writeUse(lastRequestAt: number): string {
  return JSON.stringify({ lastRequestAt });
}

function readUse(use: string | undefined): number {
  return use === undefined ? 0 : (JSON.parse(use) as { lastRequestAt: number }).lastRequestAt;
}

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

type Hidden = Omit<SourceState, "shown">;

const NOTHING: Hidden = {
  auth: undefined,
  options: {},
  pathToken: undefined,
  secrets: [],
  declaredSecrets: undefined,
};

export function writeState(state: SourceState, managedBy: ManagedBy, box: SecretBox): string {
  const { shown, ...hidden } = state;
  const { name: _, ...rest } = shown;
  const settings: StoredSettings = { ...rest, managedBy };
  if (!isDeepStrictEqual({ ...hidden, declaredSecrets: undefined }, NOTHING)) {
    settings.sealed = Buffer.from(box.seal(JSON.stringify(hidden), ownerOf(shown))).toString("base64");
    const ownQueue = findOwnQueue(state);
    if (ownQueue !== undefined) settings.ownQueue = ownQueue;
  }
  return JSON.stringify(settings);
}

function findOwnQueue({ shown: { kind = "" }, options }: SourceState): string | undefined {
  const { own, queue, connection = DEFAULT_CONNECTION } = options;
  return own === "take" ? describeQueue(kind as BrokerKind, String(connection), String(queue)) : undefined;
}

export function readState(name: string, text: string, box: SecretBox): { state: SourceState; managedBy: ManagedBy } {
  const { sealed, managedBy, ownQueue: _, ...rest } = JSON.parse(text) as StoredSettings;
  const shown = { ...rest, name };
  const plain = sealed === undefined ? "{}" : box.open(Buffer.from(sealed, "base64"), ownerOf(shown));
  return { state: { shown, ...NOTHING, ...(JSON.parse(plain) as Partial<Hidden>) }, managedBy };
}

function ownerOf({ tenant_id: tenantId = DEFAULT_TENANT, name }: Pick<Shown, "tenant_id" | "name">): string {
  return `${tenantId}/source/${name}`;
}

/** The source as the receiver uses it. */
export function toSource(
  state: SourceState,
  kind: SourceKindRules | undefined,
  defaults: {
    maxBytes: number;
    declared: boolean;
  },
): Source {
  const { shown, auth, options, pathToken } = state;
  const set = fillIn(SourceInput.properties, shown);
  const fields = [shown.id_from, shown.ordering_key_from, shown.priority_from].map(parseField);
  const [idFrom, orderingKeyFrom, priorityFrom] = fields;
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
    pointers: [...(kind?.pointers ?? []), ...fields.flatMap((field) => (field?.in === "body" ? [field.pointer] : []))],
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

/** Whether a kind's setting is a secret, by its name. Names of headers and encodings of secrets are not. */
export function isCredentialOption(name: string): boolean {
  return isCredentialHeader(name) && !/_(header|encoding)$/.test(name);
}

/** Shows which credentials there are, without their values. */
function showHidden({ auth, options, pathToken, secrets }: SourceState): Readonly<Record<string, unknown>> {
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

function parseField(text: string | undefined): RequestField | undefined {
  if (text === undefined) return undefined;
  const [where, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  return where === "header" ? { in: "header", name: rest.toLowerCase() } : { in: "body", pointer: parsePointer(rest) };
}

/** Regular work for sources. */
export type SourceUpkeep = ReturnType<typeof startSourceUpkeep>;

/** The time of the last request is written with this delay, so that no webhook waits for it. */
const EVERY_MS = 30_000;

export function startSourceUpkeep(options: {
  records: Pick<Records, "recordStates">;
  clock: Clock;
  list: () => readonly Entry<SourceRecord>[];
  endOverlaps: () => Promise<void>;
  onFault: (error: unknown) => void;
}) {
  const { records, clock, list, endOverlaps, onFault } = options;
  const written = new Map(list().map(({ seq, thing }) => [seq, thing.source.lastRequestAt]));

  async function write(): Promise<void> {
    const uses = list().map(({ seq, thing }) => ({ seq, at: thing.source.lastRequestAt }));
    const later = uses.filter(({ seq, at }) => at > (written.get(seq) ?? 0));
    if (later.length === 0) return;
    await records.recordStates(later.map(({ seq, at }) => ({ seq, state: writeUse(at) })));
    for (const { seq, at } of later) written.set(seq, at);
  }

  function findWaitMs(): number {
    const wall = clock.wall();
    const ends = list().flatMap(({ thing }) => thing.state.secrets.map(({ endsAt }) => (endsAt ?? Infinity) - wall));
    return Math.max(0, Math.min(EVERY_MS, ...ends));
  }

  async function run(): Promise<void> {
    await Promise.all([write(), endOverlaps()]);
  }

  const rounds = startRounds({ clock, everyMs: findWaitMs, run, onFault });
  return {
    /** Something has changed that may end before the next run. */
    schedule: rounds.reschedule,
    async stop(): Promise<void> {
      await rounds.stop();
      await write().catch(onFault);
    },
  };
}
