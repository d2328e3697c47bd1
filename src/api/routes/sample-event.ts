import { Type, type Static } from "typebox";
import { PRIORITIES } from "../../model/event.ts";

const Members = Type.Record(Type.String(), Type.Unknown());

/** An event that the caller describes for a test. */
export const SampleEvent = Type.Object(
  {
    event_type: Type.Optional(Type.String({ maxLength: 255 })),
    source: Type.Optional(Type.String({ maxLength: 128 })),
    tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
    priority: Type.Optional(Type.Union(PRIORITIES.map((priority) => Type.Literal(priority)))),
    headers: Type.Optional(Members),
    query: Type.Optional(Type.Union([Members, Type.String({ description: "The query string of a URL" })])),
    metadata: Type.Optional(Members),
    data: Type.Optional(Type.Unknown({ description: "The JSON body; leave it out if the body is not JSON" })),
  },
  { additionalProperties: false },
);
export type SampleEvent = Static<typeof SampleEvent>;

export const StoredEventId = Type.String({ minLength: 1, maxLength: 128, description: "The id of a stored event" });

/** Header names in lower case, because they are case-insensitive. */
export function lowerNames(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
