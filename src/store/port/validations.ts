import type { ValidationFormat } from "../../domain/validation.ts";
import type { Page, PageOf } from "../store.ts";

/** Every version of every validation, for good. */
export interface ValidationBook {
  /** The latest version of each endpoint and format, deletions included. */
  loadValidations(): Promise<readonly ValidationRow[]>;
  /** The store gives each the next number of its endpoint, in their order; resolves to these. All of them or none. */
  addValidations(rows: readonly NewValidationRow[]): Promise<readonly number[]>;
  findValidation(endpoint: string, version: number): Promise<ValidationRow | undefined>;
  /** Without documents, the latest first. */
  listValidationVersions(endpoint: string, page: Page): Promise<PageOf<ValidationVersionRow>>;
  /** Whether a document was ever that of this endpoint and format. */
  hasValidationDocument(endpoint: string, format: ValidationFormat, hash: string): Promise<boolean>;
  /** The folder holds these versions now. */
  noteValidationMirrored(endpoint: string, versions: readonly number[]): Promise<void>;
}

export interface ValidationVersionRow {
  endpoint: string;
  version: number;
  format: ValidationFormat;
  isDeleted: boolean;
  /** Of the document; 0 where it is deleted. */
  size: number;
  hash: string | undefined;
  /** The version that this one brought back. */
  restoredFrom: number | undefined;
  createdAt: number;
  /** The id of a key, or `folder`. */
  createdBy: string;
  isMirrored: boolean;
}

export interface ValidationRow extends ValidationVersionRow {
  /** Undefined where it is deleted. */
  document: Uint8Array | undefined;
}

export type NewValidationRow = Omit<ValidationRow, "version" | "isDeleted" | "size" | "isMirrored">;
