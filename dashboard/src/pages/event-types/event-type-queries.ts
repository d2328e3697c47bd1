import { queryOptions } from "@tanstack/react-query";
import { getVersioned } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { EventType } from "../../api/types.ts";

const PATH = "/api/v1/event-types";

export const pathOfEventType = (name: string) => `${PATH}/${encodeURIComponent(name)}`;

export const eventTypesQuery = (status: string | undefined) => pagedQuery<EventType>("event-types", PATH, { status });

export const eventTypeQuery = (name: string) =>
  queryOptions({
    queryKey: ["event-types", "one", name],
    queryFn: ({ signal }) => getVersioned<EventType>(pathOfEventType(name), {}, signal),
  });
