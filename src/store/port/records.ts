import type { Accepted } from "../../model/accepted.ts";
import type { AuditNote } from "./audit.ts";
import type { NewDelivery, NewEvent } from "./event-log.ts";
import type { NewReplay, ReplayRow } from "./jobs.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * All configuration, as versioned records. One sequence of versions covers all records. A deleted record leaves a
 * tombstone, so that readers that follow the versions notice the deletion.
 *
 * A tenant comes into existence, without quotas, in the transaction of the first event, subscription or key that names
 * it. Until somebody configures it, its record has format 0: loads, changes and guards ignore it, and `absent` matches
 * it. So names that strangers choose do not fill the memory. The tenant `default` always exists.
 */
export interface Records {
  /** All live records of these kinds, and the version at which they were read. */
  load(kinds: readonly RecordKind[]): Promise<RecordSet>;
  /**
   * All records, tombstones included, with a version above this one, in the order of versions. Nothing can later become
   * visible at or below the returned version, so a reader that continues from there misses no change.
   */
  changesSince(version: number, kinds: readonly RecordKind[]): Promise<RecordSet>;
  /** A record that is not deleted, whatever its format. */
  find(key: RecordKey): Promise<StoredRecord | undefined>;
  /** All records of a kind that belongs to the whole gateway, whatever their format; by id. */
  list(kind: RecordKind, page: Page): Promise<PageOf<StoredRecord>>;
  /**
   * Applies the whole request in one transaction and under one new version, or nothing of it. A rejection is a value
   * and changes nothing; everything is checked before the first write.
   */
  write(request: WriteRequest): Promise<WriteResult>;
  /**
   * Stores runtime state that is not configuration: one state for each record or kept version, replacing the previous
   * one. Does not change the version. Does nothing when the record is deleted, which deletes its state too.
   */
  recordStates(states: readonly RecordState[], audit?: readonly AuditNote[]): Promise<void>;

  /** The kept versions of a series, the latest first, without their bytes. */
  listVersions(series: RecordSeries, page: Page): Promise<PageOf<RecordVersion>>;
  findVersion(series: RecordSeries, number: number): Promise<RecordVersion | undefined>;

  /** The result of a request with this `Idempotency-Key`. The mark is written in the same transaction as the result. */
  findMark(scope: string, key: string): Promise<IdempotencyMark | undefined>;
}

export type RecordKind =
  | "alert"
  | "config"
  | "event_type"
  | "key"
  | "pass"
  | "source"
  | "subscription"
  | "target"
  | "tenant"
  | "validation"
  /** A record of a plugin: the plugin's name, and its own name for the kind. */
  | `${string}_${string}`;

export interface RecordKey {
  kind: RecordKind;
  /** Empty when the kind belongs to the whole gateway. */
  tenantId: string;
  id: string;
}

export interface StoredRecord extends RecordKey {
  /** Permanent for each key: a record that is created again after its deletion has the same number. */
  seq: number;
  version: number;
  /** Of `data`; 0 for a tenant that nobody has configured. A newer format than the writer's is never overwritten. */
  format: number;
  /** JSON; undefined in a tombstone. */
  data: string | undefined;
  /** Additional bytes: encrypted data, or a document. */
  blob: Uint8Array | undefined;
  /** JSON of the latest state. */
  state: string | undefined;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | undefined;
}

export type RecordState = { state: string } & ({ seq: number } | { series: RecordSeries; number: number });

/** Records whose versions are all kept for ever, numbered 1, 2, 3 … */
export interface RecordSeries {
  kind: RecordKind;
  tenantId: string;
  series: string;
}

export interface RecordVersion extends Pick<StoredRecord, "id" | "format" | "state" | "createdAt"> {
  number: number;
  isDeleted: boolean;
  /** JSON, even for a deletion. */
  data: string;
  /** Undefined in a list. */
  blob: Uint8Array | undefined;
  /** The size of the bytes. */
  size: number;
}

export interface RecordSet {
  version: number;
  records: readonly StoredRecord[];
}

export interface WriteRequest {
  changes: readonly RecordChange[];
  /** Records that are not changed, but must still have the version that was read. */
  checks?: readonly RecordExpectation[] | undefined;
  guards?: readonly RecordGuard[] | undefined;
  /** The gateway's own events about the changes, accepted with them. */
  events?: readonly { event: NewEvent; deliveries: readonly NewDelivery[] }[] | undefined;
  /** A job that the changes require, created with them. */
  replay?: NewReplay | undefined;
  mark?: IdempotencyMark | undefined;
  /** Entries for the audit log. */
  audit?: readonly AuditNote[] | undefined;
  /** Wall time of the creation or change. */
  at: number;
}

export interface RecordExpectation extends RecordKey {
  /** The version that was read; `absent` when there is no record, or a tombstone. */
  expected: number | "absent";
}

export type RecordChange = RecordExpectation & {
  format: number;
  /** Keeps this version for ever. Rejected as `changed` when the number is not the next one of the series. */
  kept?: KeptVersion | undefined;
} & ({ act: "put"; data: string; blob?: Uint8Array | undefined } | { act: "delete" });

export interface KeptVersion {
  series: string;
  number: number;
  /** JSON to keep. */
  data: string;
}

/** Requires that no record of this kind (and of this tenant, if given) has changed since this version. */
export interface RecordGuard {
  kind: RecordKind;
  tenantId?: string | undefined;
  since: number;
}

export type WriteResult =
  /** `seqs`: the numbers of the changed records, in the order of `changes`. */
  | {
      kind: "written";
      version: number;
      seqs: readonly number[];
      events: readonly Accepted[];
      replay?: ReplayRow | undefined;
    }
  | WriteRejection;

export type WriteRejection = { kind: "rejected" } & (
  | { why: "idempotency_key_used"; mark: IdempotencyMark }
  /** `version`: the record's current version; undefined when there is no record. */
  | { why: "changed"; key: RecordKey; version: number | undefined }
  | { why: "guard"; guard: RecordGuard }
  | { why: "newer_format"; key: RecordKey; format: number }
  /** The tenant is being erased; nothing can be created for it until that is complete. */
  | { why: "erasing"; tenantId: string }
);

export interface IdempotencyMark {
  scope: string;
  key: string;
  /** A digest of the request. */
  fingerprint: string;
  madeId: string;
  madeAt: number;
}
