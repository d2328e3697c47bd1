import type { Clock } from "../../domain/clock.ts";
import { GENERIC } from "./generic.ts";
import { createProviderKinds } from "./providers.ts";
import type { SourceKind } from "./source-kind.ts";

/** What kinds may ask of the gateway. */
export interface SourceKindServices {
  clock: Clock;
  /** The body of a document behind an https address, through the guarded client; rejects with `unavailable`. */
  fetchText: (url: string) => Promise<string>;
}

/** Every kind of source, one line each. */
const FACTORIES: readonly ((services: SourceKindServices) => readonly SourceKind[])[] = [
  () => [GENERIC],
  createProviderKinds,
];

export function createSourceKinds(
  services: SourceKindServices,
  more: readonly SourceKind[] = [],
): ReadonlyMap<string, SourceKind> {
  const kinds = FACTORIES.flatMap((create) => create(services));
  return new Map([...kinds, ...more].map((kind) => [kind.name, kind]));
}
