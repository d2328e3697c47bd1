import type { Clock } from "../model/clock.ts";
import { PosthornError, orThrow } from "../model/errors.ts";
import {
  actOf,
  isOver,
  opensDeliveries,
  requestedFilter,
  type ReplayFilter,
  type ReplayKind,
  type ReplayStatus,
} from "../model/replay.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Authors } from "../resources/authors.ts";
import type { Draft } from "../resources/draft.ts";
import { tenantErasing } from "../resources/registry.ts";
import type { NewReplay, ReplayRow } from "../store/port/jobs.ts";
import type { Page } from "../store/port/reads.ts";
import { readAll, type Store } from "../store/store.ts";
import { firstCursor, formatCursor, parseTime } from "./replay-selection.ts";
import type { ReplayRunner } from "./replay-runner.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

/** Work on many deliveries, as jobs. A caller that is bound to a tenant sees and starts only that tenant's jobs. */
export type BulkReplays = ReturnType<typeof createBulkReplays>;

export interface ReplayRequest {
  kind: ReplayKind;
  filter: ReplayFilter;
  boundTo: string | undefined;
  /** An id derived from the caller's own key for this request. */
  id?: string | undefined;
}

export interface ReplayPlan {
  count: number;
  /** False when there were too many to count: `count` is then a lower limit. */
  isExact: boolean;
}

const COUNT_PAGE = 2000;
const COUNT_SCANNED = 5000;
/** The longest time that a caller waits for a count. */
const COUNT_MS = 1500;
const COUNT_MAX = 1_000_000;
const MAX_RUNNING = 1000;
const MAX_RUNNING_OF_TENANT = 50;

const FIELDS: Readonly<Record<ReplayKind, readonly (keyof ReplayFilter)[]>> = {
  dead_letters: ["subscription_id", "tenant_id", "event_type", "reason", "since", "until"],
  purge: ["subscription_id", "tenant_id", "event_type", "reason", "since", "until"],
  events: ["subscription_id", "tenant_id", "event_type", "source", "since", "until"],
  recover: ["subscription_id", "tenant_id", "since", "until", "include"],
  cancel: ["subscription_id", "tenant_id", "event_type", "since", "until", "status"],
};

export function createBulkReplays(options: {
  store: Store;
  subscriptions: Pick<Subscriptions, "find" | "getFor" | "list" | "rightsOf">;
  runner: ReplayRunner;
  clock: Clock;
  authors: Pick<Authors, "note">;
  createId: (prefix: "rpl") => string;
}) {
  const { store, subscriptions, runner, clock, authors } = options;

  function describe(verb: string, replay: Pick<NewReplay, "id" | "tenantId" | "kind" | "filter">) {
    const { id, tenantId, kind, filter } = replay;
    const details = { kind, filter: requestedFilter(filter) };
    return authors.note({ act: `replay.${verb}`, kind: "replay", id, tenantId, details });
  }

  async function prepare({ kind, filter, boundTo, id }: ReplayRequest): Promise<Prepared> {
    checkFilter(kind, filter);
    const asked = boundTo ?? filter.tenant_id;
    const subscription =
      filter.subscription_id === undefined
        ? undefined
        : subscriptions.getFor(actOf(kind, filter), filter.subscription_id, { tenantId: asked, boundTo });
    // A dead letter's time is when it became dead; it says nothing about its event's time.
    const { since, until } = kind === "dead_letters" || kind === "purge" ? {} : filter;
    const { afterSeq, upToSeq } = await store.reads.findEventSpan(parseTime(since), parseTime(until));
    const tenantId = subscription?.tenantId ?? asked;
    const subscriptionSeq = subscription?.seq;
    return {
      id: id ?? options.createId("rpl"),
      tenantId,
      kind,
      filter: {
        ...filter,
        ...(tenantId !== undefined && { tenant_id: tenantId }),
        ...(boundTo !== undefined && { is_bound: true }),
      },
      subscriptionSeq,
      laneSeq: undefined,
      afterSeq,
      upToSeq,
      cursor: formatCursor(firstCursor(afterSeq, opensDeliveries(kind) ? subscriptionSeq : undefined)),
      createdAt: clock.wall(),
    };
  }

  async function count(replay: Prepared): Promise<ReplayPlan> {
    const deadline = clock.now() + COUNT_MS;
    let after = { eventSeq: replay.afterSeq, subscriptionSeq: Number.MAX_SAFE_INTEGER };
    for (let found = 0; ;) {
      const page = await runner.selection.walk(replay, after, {
        limit: COUNT_PAGE,
        maxScanned: COUNT_SCANNED,
        lane: replay.subscriptionSeq,
      });
      found += (await runner.selection.select(replay, page.found)).items.length;
      if (page.isEnd) return { count: found, isExact: true };
      if (clock.now() > deadline || found > COUNT_MAX) return { count: found, isExact: false };
      after = page.after;
    }
  }

  async function rejectTooMany(tenantId: string | undefined): Promise<void> {
    const running = await readAll((page) => store.jobs.listReplays({ status: "running" }, page));
    const ofTenant = running.filter((one) => tenantId !== undefined && one.tenantId === tenantId).length;
    if (running.length < MAX_RUNNING && ofTenant < MAX_RUNNING_OF_TENANT) return;
    throw new PosthornError("conflict", "Too many replays are running. Wait for one to end, or cancel one.");
  }

  /** A job of the operator may concern subscriptions that the tenant may not change; the tenant's own jobs do not. */
  function rejectOthersJob({ id, filter, subscriptionSeq }: ReplayRow, boundTo: string | undefined): void {
    if (boundTo === undefined || filter.is_bound === true) return;
    const all = subscriptionSeq === undefined ? subscriptions.list(boundTo) : [subscriptions.find(subscriptionSeq)];
    if (all.every((one) => one === undefined || subscriptions.rightsOf(one, boundTo).change)) return;
    throw new PosthornError(
      "forbidden",
      `The operator of the gateway started the replay ${id}, also for subscriptions that only operators may change. ` +
        "Only the operator may pause, resume or cancel it.",
    );
  }

  async function begin(replay: NewReplay): Promise<ReplayRow> {
    const written = await store.records.write({
      changes: [],
      replay: { ...replay, audit: describe("start", replay) },
      at: replay.createdAt,
    });
    if (written.kind === "written" && written.replay !== undefined) return written.replay;
    if (written.kind === "rejected" && written.why === "erasing") throw tenantErasing(written.tenantId);
    throw new Error(`the replay ${replay.id} was not started`);
  }

  return {
    plan: async (request: ReplayRequest) => count(await prepare(request)),

    /** `isRepeat`: the same request with the same `id` was already carried out. */
    async start(request: ReplayRequest): Promise<{ replay: ReplayRow; isRepeat: boolean }> {
      const replay = await prepare(request);
      const known = request.id === undefined ? undefined : await store.jobs.findReplay(request.id);
      if (known !== undefined) {
        rejectOther(known, replay);
        return { replay: known, isRepeat: true };
      }
      await rejectTooMany(replay.tenantId);
      const { count: total, isExact } = await count(replay);
      const row = await begin({ ...replay, total, totalIsExact: isExact });
      runner.add(row);
      return { replay: row, isRepeat: false };
    },

    /** Cancels the open deliveries of a subscription that the draft deletes. */
    cancelLane(draft: Draft, { seq, id, tenantId }: Subscription, open: number): { id: string } {
      const replay: NewReplay = {
        id: options.createId("rpl"),
        tenantId,
        kind: "cancel",
        filter: { tenant_id: tenantId, subscription_id: id },
        subscriptionSeq: seq,
        laneSeq: seq,
        afterSeq: 0,
        upToSeq: 0,
        cursor: formatCursor(firstCursor(0, undefined)),
        total: open,
        totalIsExact: true,
        createdAt: clock.wall(),
      };
      draft.startReplay({ ...replay, audit: describe("start", replay) }, (row) => runner.add(row));
      return replay;
    },

    list: (filter: { tenantId?: string | undefined; status?: ReplayStatus | undefined }, page: Page) =>
      store.jobs.listReplays(filter, page),

    async get(id: string, tenantId: string | undefined): Promise<ReplayRow> {
      const replay = await store.jobs.findReplay(id);
      if (replay === undefined || (tenantId !== undefined && replay.tenantId !== tenantId)) {
        throw new PosthornError("not_found", `There is no replay ${id}.`);
      }
      return replay;
    },

    /** What became of the deliveries that it opened; undefined for a job that opens none. */
    loadResults: async ({ id, kind }: ReplayRow) =>
      opensDeliveries(kind) ? store.jobs.loadReplayResults(id) : undefined,

    /** Throws `forbidden` when the job concerns subscriptions that a caller bound to `boundTo` may not change. */
    async setStatus(
      known: ReplayRow,
      status: "running" | "paused" | "cancelled",
      boundTo: string | undefined,
    ): Promise<ReplayRow> {
      rejectOthersJob(known, boundTo);
      const { id, laneSeq, status: current } = known;
      if (laneSeq !== undefined && !isOver(current)) {
        throw new PosthornError("conflict", "The subscription was deleted: its deliveries cannot stay open.");
      }
      const note = describe(STATUS_VERBS[status], known);
      const replay = orThrow(await store.jobs.setReplayStatus(id, status, undefined, note));
      if (status === "running") runner.add(replay);
      else runner.drop(id);
      return replay;
    },
  };
}

const STATUS_VERBS = { running: "resume", paused: "pause", cancelled: "cancel" } as const;

type Prepared = Omit<NewReplay, "total" | "totalIsExact">;

function checkFilter(kind: ReplayKind, filter: ReplayFilter): void {
  const reject = (field: string, why: string): never => {
    throw new PosthornError("invalid_field", `filter.${field} ${why}.`, { field: `filter.${field}` });
  };
  for (const field of Object.keys(filter) as (keyof ReplayFilter)[]) {
    if (!FIELDS[kind].includes(field)) reject(field, `is not a filter of ${kind}`);
  }
  if (kind === "recover" && filter.subscription_id === undefined) reject("subscription_id", "is missing");
  if (kind === "recover" && filter.since === undefined) reject("since", "is missing");
  const [since, until] = [parseTime(filter.since), parseTime(filter.until)];
  if (since !== undefined && until !== undefined && since >= until) reject("until", "must be later than since");
  const given = Object.keys(filter).filter((field) => field !== "tenant_id" && field !== "status");
  if ((kind === "events" || kind === "cancel") && given.length === 0) {
    const message = "filter is empty: select deliveries by subscription_id, event_type or since.";
    throw new PosthornError("invalid_field", message, { field: "filter" });
  }
}

function rejectOther(known: ReplayRow, requested: Prepared): void {
  const textOf = ({ kind, filter }: Prepared) =>
    JSON.stringify([kind, Object.entries(requestedFilter(filter)).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  if (textOf(known) === textOf(requested)) return;
  throw new PosthornError("idempotency_key_reused", "This Idempotency-Key started another replay; use a new one.");
}
