import type { Clock } from "../../model/clock.ts";
import { GENERIC_KIND, type Source, type SourceKindRules } from "../../model/source.ts";
import { endSecrets } from "../../model/source-secrets.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import type { Resource } from "../resource.ts";
import type { SecretBox } from "../secret-box.ts";
import { readState, showHidden, toSource, writeState, type SourceState } from "./source-settings.ts";

/** A source with the settings of its owner. */
export interface SourceRecord {
  readonly source: Source;
  readonly state: SourceState;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SourceKindOptions {
  clock: Pick<Clock, "wall">;
  secretBox: SecretBox;
  kinds: ReadonlyMap<string, SourceKindRules>;
  maxBytes: number;
  /** The time of the last request, as far as this process knows; the store gets it later. */
  findLastRequestAt: (name: string) => number | undefined;
}

export interface SourceRecords {
  readonly resource: Resource<SourceRecord>;
  toRecord(state: SourceState, managedBy: ManagedBy): SourceRecord;
}

/** How sources are stored and read. */
export function createSourceRecords(options: SourceKindOptions): SourceRecords {
  const { clock, secretBox, kinds, maxBytes, findLastRequestAt } = options;

  function build(state: SourceState, managedBy: ManagedBy, createdAt: number, updatedAt: number): SourceRecord {
    const live = { ...state, secrets: endSecrets(state.secrets, clock.wall()) };
    const source = toSource(live, kinds.get(state.shown.kind ?? GENERIC_KIND), { maxBytes, declared: true });
    return { source, state: live, managedBy, createdAt, updatedAt };
  }

  return {
    resource: {
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
    },
    toRecord: (state, managedBy) => build(state, managedBy, clock.wall(), clock.wall()),
  };
}

export function writeUse(lastRequestAt: number): string {
  return JSON.stringify({ lastRequestAt });
}

function readUse(use: string | undefined): number {
  return use === undefined ? 0 : (JSON.parse(use) as { lastRequestAt: number }).lastRequestAt;
}
