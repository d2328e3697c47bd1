import type { ValidationFormat } from "../../domain/validation.ts";
import type { NewValidationRow, ValidationRow, ValidationVersionRow } from "../port/validations.ts";
import type { Page, PageOf } from "../store.ts";
import type { Database } from "./connection.ts";

export function createValidationWrites(db: Database) {
  const insert = db.prepare(`
    insert into validation_versions
      (endpoint, version, format, document, hash, restored_from, created_at, created_by)
    values (?1, 1 + coalesce((select max(version) from validation_versions where endpoint = ?1), 0), ?2, ?3, ?4, ?5, ?6, ?7)
    returning version`);
  const noteMirrored = db.prepare("update validation_versions set is_mirrored = 1 where endpoint = ? and version = ?");
  return {
    addValidations(rows: readonly NewValidationRow[]): number[] {
      return rows.map((row) => {
        const { endpoint, format, document = null, hash = null, restoredFrom = null, createdAt, createdBy } = row;
        const inserted = insert.get(endpoint, format, document, hash, restoredFrom, createdAt, createdBy);
        return (inserted as { version: number }).version;
      });
    },
    noteValidationMirrored(endpoint: string, versions: readonly number[]): void {
      for (const version of versions) noteMirrored.run(endpoint, version);
    },
  };
}

const VERSION = `endpoint, version, format, document is null as is_deleted, coalesce(length(document), 0) as size, hash,
  restored_from, created_at, created_by, is_mirrored`;

export function createValidationReads(db: Database) {
  const selectLatest = db.prepare(`
    select ${VERSION}, document from validation_versions v
    where version = (select max(version) from validation_versions where endpoint = v.endpoint and format = v.format)
    order by endpoint, format`);
  const selectOne = db.prepare(`
    select ${VERSION}, document from validation_versions where endpoint = ? and version = ?`);
  const selectVersions = db.prepare(`
    select ${VERSION} from validation_versions where endpoint = ? and version < ? order by version desc limit ?`);
  const selectSame = db.prepare(`
    select 1 from validation_versions where endpoint = ? and format = ? and hash = ? limit 1`);
  return {
    loadValidations(): ValidationRow[] {
      return (selectLatest.all() as unknown as ValidationSql[]).map(toRow);
    },
    findValidation(endpoint: string, version: number): ValidationRow | undefined {
      const row = selectOne.get(endpoint, version) as ValidationSql | undefined;
      return row === undefined ? undefined : toRow(row);
    },
    listValidationVersions(endpoint: string, { limit, cursor }: Page): PageOf<ValidationVersionRow> {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
      const rows = selectVersions.all(endpoint, before, limit + 1) as unknown as VersionSql[];
      const shown = rows.slice(0, limit).map(toVersion);
      const last = shown.at(-1);
      return { rows: shown, nextCursor: rows.length > limit ? String(last?.version) : undefined };
    },
    hasValidationDocument(endpoint: string, format: ValidationFormat, hash: string): boolean {
      return selectSame.get(endpoint, format, hash) !== undefined;
    },
  };
}

function toVersion(row: VersionSql): ValidationVersionRow {
  return {
    endpoint: row.endpoint,
    version: row.version,
    format: row.format,
    isDeleted: row.is_deleted === 1,
    size: row.size,
    hash: row.hash ?? undefined,
    restoredFrom: row.restored_from ?? undefined,
    createdAt: row.created_at,
    createdBy: row.created_by,
    isMirrored: row.is_mirrored === 1,
  };
}

function toRow(row: ValidationSql): ValidationRow {
  return { ...toVersion(row), document: row.document ?? undefined };
}

interface VersionSql {
  endpoint: string;
  version: number;
  format: ValidationFormat;
  is_deleted: number;
  size: number;
  hash: string | null;
  restored_from: number | null;
  created_at: number;
  created_by: string;
  is_mirrored: number;
}

interface ValidationSql extends VersionSql {
  document: Uint8Array | null;
}
