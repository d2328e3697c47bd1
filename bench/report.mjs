// The table of a run, and the machine it ran on.
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { median } from "./statistics.mjs";

export function judge({ value, must, aim, isLowerBetter = false }) {
  if (must === undefined) return "";
  const meets = (bound) => (isLowerBetter ? value <= bound : value >= bound);
  if (!meets(must)) return "MISS";
  return aim === undefined || meets(aim) ? "pass" : "pass, aim missed";
}

export function formatTable(rows) {
  const lines = rows.map((row) => {
    const unit = row.unit === undefined ? "" : ` ${row.unit}`;
    const sign = row.isLowerBetter === true ? "≤" : "≥";
    const bound = (value) => (value === undefined ? "" : `${sign} ${value.toLocaleString("en")}${unit}`);
    return [
      row.figure,
      `${formatValue(row.value)}${unit}`,
      bound(row.must),
      bound(row.aim),
      judge(row),
      row.note ?? "",
    ];
  });
  const all = [["figure", "measured", "must", "aim", "", ""], ...lines];
  const widths = all[0].map((_, i) => Math.max(...all.map((line) => line[i].length)));
  return all
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function formatValue(value) {
  if (!Number.isFinite(value)) return "–";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
}

export function describeMachine(dir) {
  return {
    node: process.version,
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? "unknown",
    kernel: release(),
    loadAverage: loadavg()[0],
    fsyncMedianMs: measureFsync(join(dir, "fsync")),
  };
}

function measureFsync(file) {
  const handle = openSync(file, "w");
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 50 }, () => {
    const startedAt = performance.now();
    writeSync(handle, page);
    fsyncSync(handle);
    return performance.now() - startedAt;
  });
  closeSync(handle);
  return median(times);
}
