const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function formatCount(count: number): string {
  return count < 100_000 ? whole.format(count) : short.format(count);
}

export function formatRate(perSecond: number): string {
  if (perSecond === 0) return "0";
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}

export function formatShare(share: number | null): string {
  if (share === null) return "–";
  return share === 1 ? "100 %" : `${(Math.floor(share * 10_000) / 100).toFixed(share < 0.99 ? 1 : 2)} %`;
}

export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  if (ms === 0) return "0 ms";
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
