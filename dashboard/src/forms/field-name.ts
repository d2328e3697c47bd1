const SPELLINGS: Readonly<Record<string, string>> = {
  url: "URL",
  id: "id",
  ips: "IPs",
  sid: "SID",
  s: "(seconds)",
  html: "HTML",
  cc: "CC",
  bcc: "BCC",
  ca: "CA",
};

/** Names that say nothing without the idea behind them. */
const LABELS: Readonly<Record<string, string>> = {
  failures_to_open: "Failures until QUEUE",
  successes_to_close: "Successes until NORMAL",
};

/** `retry_interval` as people write it; `_s` says that it is in seconds. */
export function labelOf(name: string): string {
  if (LABELS[name] !== undefined) return LABELS[name];
  const words = name.split("_").map((word) => SPELLINGS[word] ?? word);
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
