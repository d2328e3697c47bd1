import { queryOptions } from "@tanstack/react-query";
import { request, type Versioned } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { EventType } from "../../api/types.ts";

const PATH = "/api/v1/event-types";

export const pathOfEventType = (name: string) => `${PATH}/${encodeURIComponent(name)}`;

export const eventTypesQuery = (status: string | undefined) => pagedQuery<EventType>("event-types", PATH, { status });

/** With the answer as the text that it is: numbers beyond 2^53 would not survive as values. */
export interface LoadedEventType extends Versioned<EventType> {
  text: string;
}

export const eventTypeQuery = (name: string) =>
  queryOptions({
    queryKey: ["event-types", "one", name],
    queryFn: async ({ signal }): Promise<LoadedEventType> => {
      const { text, headers } = await request("GET", pathOfEventType(name), { signal });
      return { thing: JSON.parse(text) as EventType, etag: headers.get("etag") ?? undefined, text };
    },
  });
