import type { AuditNote } from "./audit.ts";
import type { AcceptResult, NewDelivery, NewEvent } from "./event-log.ts";
import type { NewReplay, ReplayRow } from "./jobs.ts";
import type { Page, PageOf } from "./reads.ts";

/**
 * Everything users configure, as versioned records. One sequence of versions runs over all of them; what is deleted
 * leaves a tombstone, so that whoever follows the versions learns of it.
 *
 * A tenant comes into being, without quotas, in the transaction of the first event, subscription or key that names it.
 * Until somebody configures it, its record has the format 0: loads, changes and guards leave it out, and who expects none
 * is right. So nobody's memory is filled by names that others choose. The tenant `default` is always there.
 */
export interface Records {
  /** All live records of these kinds, and the version that this is as of. */
  load(kinds: readonly RecordKind[]): Promise<RecordSet>;
  /**
   * What has a version beyond this one, tombstones included, by version. The version it reports as reached is one below
   * which nothing can become visible any more: whoever goes on from there misses no change.
   */
  changesSince(version: number, kinds: readonly RecordKind[]): Promise<RecordSet>;
  /** One that is not deleted, whatever its format is. */
  find(key: RecordKey): Promise<StoredRecord | undefined>;
  /** All of a kind that belongs to the whole gateway, whatever their formats are; by id. */
  list(kind: RecordKind, page: Page): Promise<PageOf<StoredRecord>>;
  /**
   * Everything in the request happens, in one transaction and under one new version, or nothing does. A refusal is a
   * value and changes nothing; all of it is checked before the first write.
   */
  write(request: WriteRequest): Promise<WriteResult>;
  /**
   * Keeps what changes by itself and is not configuration, one for each record or kept version, in place of the one
   * before. It moves no version. Nothing happens where the record is deleted; its state goes with it.
   */
  noteStates(states: readonly RecordState[], audit?: readonly AuditNote[]): Promise<void>;

  /** What was kept of a series, the latest first, without bytes. */
  listVersions(series: RecordSeries, page: Page): Promise<PageOf<RecordVersion>>;
  findVersion(series: RecordSeries, number: number): Promise<RecordVersion | undefined>;

  /** What a request with this `Idempotency-Key` has made. A mark is written together with that, or neither is. */
  findMark(scope: string, key: string): Promise<IdempotencyMark | undefined>;
}

export type RecordKind =
  | "alert"
  | "event_type"
  | "key"
  | "source"
  | "subscription"
  | "target"
  | "tenant"
  | "validation"
  /** Of a plugin: its name, and what it is there. */
  | `${string}_${string}`;

export interface RecordKey {
  kind: RecordKind;
  /** Empty where the kind belongs to the whole gateway. */
  tenantId: string;
  id: string;
}

export interface StoredRecord extends RecordKey {
  /** One for each key, for good: a record that comes back after its deletion has the number it had. */
  seq: number;
  version: number;
  /** Which form `data` has; 0 for one that nobody has configured. A record in a newer form than the writer's is never overwritten. */
  format: number;
  /** JSON; undefined in a tombstone. */
  data: string | undefined;
  /** Bytes beside it: what the caller has sealed, or a document. */
  blob: Uint8Array | undefined;
  /** JSON, as it was last noted. */
  state: string | undefined;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | undefined;
}

export type RecordState = { state: string } & ({ seq: number } | { series: RecordSeries; number: number });

/** Records whose every version is kept for good under one sequence of numbers: 1, 2, 3 … */
export interface RecordSeries {
  kind: RecordKind;
  tenantId: string;
  series: string;
}

export interface RecordVersion extends Pick<StoredRecord, "id" | "format" | "state" | "createdAt"> {
  number: number;
  isDeleted: boolean;
  /** JSON, also of a deletion. */
  data: string;
  /** Undefined in a list. */
  blob: Uint8Array | undefined;
  /** Of the bytes. */
  size: number;
}

export interface RecordSet {
  version: number;
  records: readonly StoredRecord[];
}

export interface WriteRequest {
  changes: readonly RecordChange[];
  /** Records that must still be as they were read, though they are not changed. */
  checks?: readonly RecordExpectation[] | undefined;
  guards?: readonly RecordGuard[] | undefined;
  /** Events of the gateway itself that tell of the changes; accepted with them. */
  events?: readonly { event: NewEvent; deliveries: readonly NewDelivery[] }[] | undefined;
  /** A job that follows from the changes; begun with them. */
  replay?: NewReplay | undefined;
  mark?: IdempotencyMark | undefined;
  /** What is told of it in the audit log. */
  audit?: readonly AuditNote[] | undefined;
  /** Wall time: when what is made was made, and what is changed was changed. */
  at: number;
}

export interface RecordExpectation extends RecordKey {
  /** The version that was read; `absent` where there is none, or a tombstone. */
  expected: number | "absent";
}

export type RecordChange = RecordExpectation & {
  format: number;
  /** This version is kept for good. Refused as `changed` where the number is not the next one of the series. */
  kept?: KeptVersion | undefined;
} & ({ act: "put"; data: string; blob?: Uint8Array | undefined } | { act: "delete" });

export interface KeptVersion {
  series: string;
  number: number;
  /** JSON of what is kept. */
  data: string;
}

/** No record of the kind, and of the tenant where one is given, has changed since this version. */
export interface RecordGuard {
  kind: RecordKind;
  tenantId?: string | undefined;
  since: number;
}

export type WriteResult =
  /** `seqs` are those of the changed records, in the order of `changes`. */
  | {
      kind: "written";
      version: number;
      seqs: readonly number[];
      events: readonly AcceptResult[];
      replay?: ReplayRow | undefined;
    }
  | WriteRefusal;

export type WriteRefusal = { kind: "refused" } & (
  | { why: "idempotency_key_used"; mark: IdempotencyMark }
  /** `version` is that of the record as it is now; undefined where there is none. */
  | { why: "changed"; key: RecordKey; version: number | undefined }
  | { why: "guard"; guard: RecordGuard }
  | { why: "newer_format"; key: RecordKey; format: number }
  /** Everything of the tenant is being erased: until that is over it gets nothing new. */
  | { why: "erasing"; tenantId: string }
);

export interface IdempotencyMark {
  scope: string;
  key: string;
  /** Of the request. */
  fingerprint: string;
  madeId: string;
  madeAt: number;
}
