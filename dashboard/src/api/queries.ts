import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { getJson, getVersioned, request } from "./client.ts";
import type { Filters } from "../layout/view-filters.ts";
import { memberText } from "../json/member-text.ts";
import { pagedQuery } from "./paged.ts";
import type {
  Alert,
  Delivery,
  DeliveryWithAttempts,
  EventPage,
  EventWithDeliveries,
  Page,
  Session,
  SignInWays,
  Statistics,
  StatisticsSeries,
  SeriesWindow,
  Status,
  StatusChange,
  Subscription,
  Target,
} from "./types.ts";

/** How often what changes by itself is asked for again. */
export const OFTEN_MS = 2_000;
export const SOMETIMES_MS = 15_000;
const SELDOM_MS = 60_000;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => getJson<Session>("/api/v1/session", {}, signal),
  staleTime: Infinity,
  retry: false,
});

export const signInWaysQuery = queryOptions({
  queryKey: ["sign-in"],
  queryFn: ({ signal }) => getJson<SignInWays>("/api/v1/sign-in", {}, signal),
  staleTime: Infinity,
});

export const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => getJson<Status>("/status", {}, signal),
  refetchInterval: OFTEN_MS,
});

export const statisticsQuery = queryOptions({
  queryKey: ["stats"],
  queryFn: ({ signal }) => getJson<Statistics>("/api/v1/stats", {}, signal),
  refetchInterval: OFTEN_MS,
});

export const seriesQuery = (window: SeriesWindow) =>
  queryOptions({
    queryKey: ["stats", "series", window],
    queryFn: ({ signal }) => getJson<StatisticsSeries>("/api/v1/stats/series", { window }, signal),
    refetchInterval: SOMETIMES_MS,
    placeholderData: (before) => before,
  });

export const activeAlertsQuery = queryOptions({
  queryKey: ["alerts", "active"],
  queryFn: ({ signal }) => getJson<Page<Alert>>("/api/v1/alerts", { status: "active", limit: 20 }, signal),
  refetchInterval: SOMETIMES_MS,
});

const PAGE_OF_SUBSCRIPTIONS = 500;
/** As many as can be chosen from and ranked in a browser; `next_cursor` says that there are more. */
export const MOST_SUBSCRIPTIONS = 5_000;

export const subscriptionsQuery = queryOptions({
  queryKey: ["subscriptions"],
  async queryFn({ signal }): Promise<Page<Subscription>> {
    const all: Subscription[] = [];
    let cursor: string | null = null;
    do {
      const query = { limit: PAGE_OF_SUBSCRIPTIONS, cursor: cursor ?? undefined };
      const page: Page<Subscription> = await getJson("/api/v1/subscriptions", query, signal);
      all.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null && all.length < MOST_SUBSCRIPTIONS);
    return { data: all, next_cursor: cursor };
  },
  refetchInterval: ({ state }) => ((state.data?.data.length ?? 0) > PAGE_OF_SUBSCRIPTIONS ? SELDOM_MS : SOMETIMES_MS),
});

export const allSubscriptionsQuery = (filters: Filters) =>
  pagedQuery<Subscription>("subscriptions", "/api/v1/subscriptions", filters, { limit: 500, refetchMs: SOMETIMES_MS });

export const subscriptionQuery = (id: string) =>
  queryOptions({
    queryKey: ["subscription", id],
    queryFn: ({ signal }) => getVersioned<Subscription>(`/api/v1/subscriptions/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: SOMETIMES_MS,
  });

/** What the attempts of a subscription came to, hour by hour. */
export const healthQuery = (id: string) =>
  queryOptions({
    queryKey: ["health", id],
    queryFn: ({ signal }) =>
      getJson<StatisticsSeries>("/api/v1/stats/series", { window: "last_24h", subscription_id: id }, signal),
    refetchInterval: SELDOM_MS,
    staleTime: SOMETIMES_MS,
  });

export const statusHistoryQuery = (id: string) =>
  pagedQuery<StatusChange>(
    "subscription",
    `/api/v1/subscriptions/${encodeURIComponent(id)}/history`,
    {},
    { limit: 10, keepsBefore: false },
  );

export const deliveriesQuery = (filters: { subscription_id: string; status: string | undefined }) =>
  pagedQuery<Delivery>("deliveries", "/api/v1/deliveries", filters, { limit: 20, keepsBefore: false });

export const allTargetsQuery = pagedQuery<Target>(
  "targets",
  "/api/v1/targets",
  {},
  { limit: 500, refetchMs: SOMETIMES_MS / 3 },
);

export const targetQuery = (name: string, tenantId: string | undefined) =>
  queryOptions({
    queryKey: ["target", name, tenantId],
    queryFn: ({ signal }) =>
      getVersioned<Target>(`/api/v1/targets/${encodeURIComponent(name)}`, { tenant_id: tenantId }, signal),
    refetchInterval: SOMETIMES_MS / 3,
  });

/** The target of a subscription: the one that it names, or its own if it names none or a preset. */
export const targetOfQuery = ({ id, target, tenant_id: tenantId }: Subscription) =>
  queryOptions({
    queryKey: ["target", "of", id, target],
    queryFn: async ({ signal }) => {
      const own = () => getJson<Target>(`/api/v1/targets/${encodeURIComponent(id)}`, {}, signal);
      if (target === null) return own();
      return getJson<Target>(`/api/v1/targets/${encodeURIComponent(target)}`, { tenant_id: tenantId }, signal).catch(
        own,
      );
    },
    refetchInterval: SOMETIMES_MS / 3,
  });

export type EventFilters = Filters;

export const eventsQuery = (filters: EventFilters) =>
  infiniteQueryOptions({
    queryKey: ["events", filters],
    queryFn: ({ pageParam, signal }) =>
      getJson<EventPage>("/api/v1/events", { ...filters, limit: 100, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
  });

/** The event, and its payload as the text that it is: numbers beyond 2^53 would not survive as values. */
export interface LoadedEvent {
  event: EventWithDeliveries;
  payloadText: string | undefined;
}

export const eventQuery = (id: string) =>
  queryOptions({
    queryKey: ["event", id],
    queryFn: async ({ signal }): Promise<LoadedEvent> => {
      const { text } = await request("GET", `/api/v1/events/${encodeURIComponent(id)}`, { signal });
      return { event: JSON.parse(text) as EventWithDeliveries, payloadText: memberText(text, "payload") };
    },
  });

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ["delivery", id],
    queryFn: ({ signal }) => getJson<DeliveryWithAttempts>(`/api/v1/deliveries/${id}`, {}, signal),
  });
