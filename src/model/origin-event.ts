/**
 * The id of an event at the gateway where it first came in. It is stored in the details after the hops, so that it is
 * found without parsing the rest, which may be long.
 */
const ORIGIN = /^\{"hops":\d+,"origin_event_id":"([A-Za-z0-9_:-]{1,128})"/;

export function originIdOf(details: string | undefined): string | undefined {
  return details?.startsWith('{"hops":') === true ? ORIGIN.exec(details)?.[1] : undefined;
}
