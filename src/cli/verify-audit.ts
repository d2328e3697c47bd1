import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { getDatabasePath } from "../config/store-url.ts";
import {
  createAuditKey,
  createAuditVerifier,
  deriveAuditSeed,
  canonicalJson,
  createChainCheck,
  type ChainFault,
  type AuditMark,
  type AuditRow,
} from "../model/audit.ts";
import { findMasterKey } from "../resources/secret-box.ts";
import type { AuditPart } from "../store/port/audit.ts";
import { openAuditOf } from "../store/sqlite/audit.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { countOf, print, printJson } from "./output.ts";
import { resolvePath } from "./surroundings.ts";

export interface VerifyAuditFlags extends LocalFlags {
  publicKey?: string;
  anchor?: string[];
}

type Opened = Omit<AuditPart, "rows"> & { rows: AsyncIterable<AuditRow> | Iterable<AuditRow> };

const PART_ROWS = 1000;

export async function runVerifyAudit(file: string | undefined, flags: VerifyAuditFlags): Promise<void> {
  const verify = findVerifier(flags);
  const anchors = (flags.anchor ?? []).map(parseAnchor);
  const { storeId, head, checkpoint, rows } =
    file === undefined ? openDatabase(getDatabasePath(loadLocal(flags).config)) : await openExport(file);
  const check = createChainCheck({ storeId, checkpoint, verify, anchors });
  for await (const row of rows) check.take(row);
  printReport(check.count, head, check.end(head), flags.json);
}

function findVerifier({ publicKey, ...flags }: VerifyAuditFlags) {
  if (publicKey !== undefined) return createAuditVerifier(publicKey);
  const { config } = loadLocal(flags);
  const masterKey = config.masterKey ?? findMasterKey(config.dataDir);
  if (masterKey !== undefined) return createAuditKey(deriveAuditSeed(masterKey)).verify;
  throw usageFailure(
    `The signature cannot be checked: ${config.dataDir} has no master.key. Give --public-key, --data-dir, or the ` +
      "master key as POSTHORN_MASTER_KEY.",
  );
}

function parseAnchor(text: string): Pick<AuditMark, "seq" | "hash"> {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) throw usageFailure(`--anchor ${text}: give SEQ:HASH.`);
  return { seq: Number(seq), hash };
}

function openDatabase(path: string): Opened {
  const audit = openAuditOf(path);
  const first = audit.read(0, PART_ROWS);
  function* readRows(): Generator<AuditRow, void> {
    const end = first.head?.seq ?? Number.MAX_SAFE_INTEGER;
    try {
      for (let part = first.rows; part.length > 0; part = audit.read(part.at(-1)?.seq ?? end, PART_ROWS).rows) {
        yield* part;
        // Ignore entries that a running gateway has added after the head was read.
        if ((part.at(-1)?.seq ?? end) >= end) return;
      }
    } finally {
      audit.close();
    }
  }
  return { ...first, rows: readRows() };
}

async function openExport(file: string): Promise<Opened> {
  const input = createReadStream(resolvePath(file), "utf8");
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  const first = await lines.next().catch((error: Error) => {
    throw new CommandFailure(`${file} cannot be read: ${error.message}.`);
  });
  const header = parseLine(first.value ?? "", 1) as unknown as ExportHeader;
  if (header.posthorn_audit !== 1) {
    throw new CommandFailure(`${file} is not an exported audit log: its first line does not say "posthorn_audit": 1.`);
  }
  async function* readRows(): AsyncGenerator<AuditRow, void> {
    let number = 1;
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
      number++;
      if (line.value === "") continue;
      const { seq, entry, data, hash } = parseLine(line.value, number);
      const canonical = data === null || data === undefined ? undefined : canonicalJson(data);
      yield { seq: Number(seq), entry: canonicalJson(entry), data: canonical, hash: String(hash) };
    }
  }
  const { store_id: storeId, head, checkpoint } = header;
  return { storeId, head: head ?? undefined, checkpoint: checkpoint ?? undefined, rows: readRows() };
}

interface ExportHeader {
  posthorn_audit: number;
  store_id: string;
  head: AuditMark | null;
  checkpoint: AuditMark | null;
}

function parseLine(line: string, number: number): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Reported below, together with lines that are JSON but not objects.
  }
  throw new CommandFailure(`Line ${number} of the exported audit log is not a JSON object: it was changed or cut.`);
}

function printReport(entries: number, head: AuditMark | undefined, fault: ChainFault | undefined, json = false): void {
  const firstWrong = fault === undefined ? null : { seq: fault.seq, reason: fault.why };
  if (json) printJson({ valid: fault === undefined, entries, first_wrong: firstWrong, head: head ?? null });
  if (fault !== undefined) throw new CommandFailure(`Entry ${fault.seq} of the audit log is wrong: ${fault.why}.`);
  if (json) return;
  const until = head === undefined ? "" : `, the last of ${new Date(head.at).toISOString()}`;
  print(
    `the audit log is complete and unchanged: ${countOf(entries, "entry", "entries")}${until}\nhead ${head?.seq}:${head?.hash}`,
  );
}
