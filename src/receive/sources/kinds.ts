import { GENERIC } from "./generic.ts";
import * as providers from "./provider-list.ts";
import type { PushedSourceKind, SourceKind } from "./source-kind.ts";

/** What kinds may ask of the gateway. */
export interface SourceKindServices {
  /** The text at an https URL, by GET through the guarded client; rejects unless the answer is a 200 of modest size. */
  fetchText(url: string): Promise<string>;
}

/** Every kind of source, and those that plugins bring. */
export function createSourceKinds(
  services: SourceKindServices,
  more: readonly SourceKind[] = [],
): ReadonlyMap<string, SourceKind> {
  const kinds: SourceKind[] = [GENERIC, ...createProviderKinds(services), ...more];
  return new Map(kinds.map((kind) => [kind.name, kind]));
}

/** Every kind of source but `generic`. */
export function createProviderKinds(services: SourceKindServices): readonly PushedSourceKind[] {
  return Object.values(providers).map((kind) => (typeof kind === "function" ? kind(services) : kind));
}
