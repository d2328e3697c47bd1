import type { AuditData, AuditEntry, AuditMark, AuditRow } from "../../model/audit.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { AuditEntry as Described, StatusChange } from "../routes/audit.docs.ts";
import { isoTime } from "./time.ts";

/** The one mapping of an entry to the wire. */
export function presentAuditEntry(row: AuditRow): AnswerOf<typeof Described> {
  const entry = JSON.parse(row.entry) as AuditEntry;
  const { before, after, details, address } = readData(row);
  return {
    seq: row.seq,
    at: isoTime(entry.at),
    actor: entry.actor,
    via: entry.via,
    address: address ?? null,
    act: entry.act,
    kind: entry.kind,
    id: entry.id,
    tenant_id: entry.tenant_id,
    before: before ?? null,
    after: after ?? null,
    details: details ?? null,
    erased: entry.data !== null && row.data === undefined,
    hash: row.hash,
  };
}

/** A partner does not get to know keys and users of others, nor how many entries the log has. */
export function presentStatusChange(row: AuditRow, isForPartner: boolean): AnswerOf<typeof StatusChange> {
  const { at, actor, act } = JSON.parse(row.entry) as AuditEntry;
  const { before, after, details } = readData(row);
  return {
    at: isoTime(at),
    from: (before?.["status"] as string | undefined) ?? null,
    to: (after?.["status"] as string | undefined) ?? null,
    actor: isForPartner ? toRole(actor) : actor,
    act,
    reason: (details?.["reason"] as string | undefined) ?? null,
    audit_seq: isForPartner ? null : row.seq,
  };
}

function toRole(actor: string): string {
  if (actor === "gateway") return actor;
  return actor.startsWith("portal:") ? "portal" : "operator";
}

/** Exactly as it is signed, so that anybody can verify it. */
export function presentMark(mark: AuditMark | undefined) {
  return mark === undefined ? null : { seq: mark.seq, hash: mark.hash, at: mark.at, signature: mark.signature };
}

function readData({ data }: AuditRow): Partial<AuditData> {
  return data === undefined ? {} : (JSON.parse(data) as AuditData);
}
