import { Type, type Static } from "typebox";
import { PRIORITIES } from "../../domain/event.ts";

const Members = Type.Record(Type.String(), Type.Unknown());

/** An event that somebody describes, to try something out on it. */
export const SampleEvent = Type.Object(
  {
    event_type: Type.Optional(Type.String({ maxLength: 255 })),
    source: Type.Optional(Type.String({ maxLength: 128 })),
    tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
    priority: Type.Optional(Type.Union(PRIORITIES.map((priority) => Type.Literal(priority)))),
    headers: Type.Optional(Members),
    query: Type.Optional(Type.Union([Members, Type.String({ description: "As it stands in a URL" })])),
    metadata: Type.Optional(Members),
    data: Type.Optional(Type.Unknown({ description: "The body; leave it out for one that is not JSON" })),
  },
  { additionalProperties: false },
);
export type SampleEvent = Static<typeof SampleEvent>;

export const StoredEventId = Type.String({ minLength: 1, maxLength: 128, description: "An event that was received" });

/** As a request has them: names do not differ by case. */
export function lowerNames(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
