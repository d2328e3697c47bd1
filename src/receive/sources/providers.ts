import * as list from "./provider-list.ts";
import type { PushedSourceKind } from "./source-kind.ts";

export interface ProviderServices {
  /** The text at an https URL, by GET through the guarded client; rejects unless the answer is a 200 of modest size. */
  fetchText(url: string): Promise<string>;
}

/** Every kind of source but `generic`. */
export function createProviderKinds(services: ProviderServices): readonly PushedSourceKind[] {
  return Object.values(list).map((kind) => (typeof kind === "function" ? kind(services) : kind));
}
