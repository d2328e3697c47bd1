import { suggestName } from "../../model/nearest-name.ts";
import { PLUGINS } from "../../plugins.ts";
import { SAMPLES, type Sample } from "../../sources/sample.ts";
import { usageFailure } from "../failure.ts";
import { printFacts, printJson } from "../output.ts";

/** All samples, those of plugins included, by the kinds of source. */
export async function loadSamples(): Promise<readonly Sample[]> {
  const brought = await Promise.all(PLUGINS.map(async (plugin) => (await plugin.loadSamples?.()) ?? []));
  return [...SAMPLES, ...brought.flat()].sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

export function getSample(samples: readonly Sample[], kind: string): Sample {
  const sample = samples.find((one) => one.kind === kind);
  if (sample !== undefined) return sample;
  const hint = suggestName(
    kind,
    samples.map((one) => one.kind),
  );
  throw usageFailure(`There is no provider "${kind}"${hint || "."} \`posthorn trigger\` lists them.`);
}

export function listSamples(samples: readonly Sample[], isJson: boolean): void {
  const rows = samples.map(({ kind, events, unsignable }) => ({
    provider: kind,
    events: Object.keys(events),
    can_be_sent: unsignable === undefined,
  }));
  if (isJson) return printJson(rows);
  // Not a table, which would cut off a long list of events.
  printFacts([
    ["PROVIDER", "EVENTS"],
    ...rows.map(({ provider, events }) => [provider, events.join(", ") || "(only the provider can sign)"] as const),
  ]);
}
