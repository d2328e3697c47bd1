import {
  type Accepted,
  type Done,
  type Rejected,
  Barrier,
  type MaybePromise,
  rejectedBy,
} from "../../model/accepted.ts";
import type { Clock } from "../../model/clock.ts";
import type { Masking } from "../../accept/masking.ts";
import { publishKey } from "../../model/ids.ts";
import { PosthornError } from "../../model/errors.ts";
import { hopsDetail, DEFAULT_TENANT } from "../../model/event.ts";
import { traceDetail, type Trace } from "../../model/trace-context.ts";
import { isGatewayEventType } from "../../model/pattern.ts";
import type { IncomingEvent } from "../../accept/fan-out.ts";
import type { Accept } from "../../accept/ingest.ts";
import { parsePublishBody, type PublishItem, type PublishLimits } from "./publish-body.ts";
import type { SchemaChecker } from "../../sandbox/checks/schema-check.ts";

export type Publisher = ReturnType<typeof createPublisher>;

interface PublishedBy {
  boundTenant?: string | undefined;
  /** The number of gateways that the event has passed; 0 if it does not come from a delivery. */
  hops?: number | undefined;
  /** The trace of the request. */
  trace?: Trace | undefined;
}

export interface PublishAnswer {
  isBatch: boolean;
  /** One for each event, in the order given. */
  results: readonly Accepted[];
}

interface PublisherOptions {
  accept: Accept;
  clock: Clock;
  createId: (prefix: "evt") => string;
  limits: PublishLimits;
  schemas: Pick<SchemaChecker, "find" | "check">;
  masking: Pick<Masking, "mask">;
}

export function createPublisher(options: PublisherOptions) {
  const { accept, clock, createId, limits, schemas, masking } = options;

  function toEvent(item: PublishItem, { boundTenant, hops = 0, trace }: PublishedBy): IncomingEvent {
    if (boundTenant !== undefined && item.tenantId !== undefined && item.tenantId !== boundTenant) {
      throw new PosthornError("forbidden", `This key is bound to the tenant ${boundTenant}. Leave out tenant_id.`, {
        field: "tenant_id",
      });
    }
    if (isGatewayEventType(item.eventType)) {
      const message = `${item.eventType} is a type of the gateway's own events. Choose another.`;
      throw new PosthornError("invalid_field", message, { field: "event_type" });
    }
    const wall = clock.wall();
    const now = clock.now();
    return {
      id: item.eventId ?? createId("evt"),
      givenId: item.eventId !== undefined,
      type: item.eventType,
      version: item.eventVersion,
      source: item.source,
      tenantId: boundTenant ?? item.tenantId ?? DEFAULT_TENANT,
      priority: item.priority,
      origin: "publish",
      occurredAt: item.timestamp ?? wall,
      receivedAt: wall,
      // Others' times are wall times; scheduling has its own, which does not jump.
      dueAt: item.deliverAt === undefined ? now : Math.max(now, now + item.deliverAt - wall),
      expiresAt: item.expiresAt === undefined ? undefined : now + item.expiresAt - wall,
      orderingKey: item.orderingKey,
      dedupeKey: item.eventId === undefined ? undefined : publishKey(item.eventId),
      replayKey: undefined,
      contentType: "application/json",
      request: undefined,
      details: describe(item, hops, trace),
      body: item.payload,
      fanOutCursor: undefined,
    };
  }

  function toChecked(item: PublishItem | PosthornError, by: PublishedBy): MaybePromise<IncomingEvent> {
    if (item instanceof PosthornError) throw item;
    const event = toEvent(item, by);
    const type = schemas.find(event.type);
    return type === undefined ? event : schemas.check(type, event, true);
  }

  /** Accepts one event, whose errors concern no other. Returns a promise only if it must be validated in a thread. */
  function publishItem(item: PublishItem | PosthornError, by: PublishedBy, done: Done<Accepted>): MaybePromise<void> {
    let stage: Rejected["stage"] = "check";
    const barrier = new Barrier(done, (error) => done(rejectedBy(error, stage, "The event could not be processed.")));
    return barrier.run(
      () => toChecked(item, by),
      (checked) => {
        stage = "accept";
        const answer = barrier.guard((result: Accepted) => barrier.end(seenBy(by, result)));
        accept(masking.mask(checked), answer);
      },
    );
  }

  return {
    /** `done` is called once, when every event that could be accepted is on disk. Throws when the body cannot be read. */
    publish(body: Buffer, by: PublishedBy, done: Done<PublishAnswer>): void {
      const { batch, items } = parsePublishBody(body, limits);
      const results: Accepted[] = [];
      let waiting = items.length;
      /** In the order given, even if one must be validated in a thread: the others wait for it. */
      const publishFrom = (first: number): void => {
        for (let index = first; index < items.length; index++) {
          const item = items[index] as PublishItem | PosthornError;
          const waits = publishItem(item, by, (result) => {
            results[index] = result;
            if (--waiting === 0) done({ isBatch: batch, results });
          });
          if (waits !== undefined) return void waits.then(() => publishFrom(index + 1));
        }
      };
      if (waiting === 0) return done({ isBatch: batch, results });
      publishFrom(0);
    },
  };
}

/** Those who are bound to no tenant see the deliveries of operators' subscriptions too. */
function seenBy({ boundTenant }: PublishedBy, result: Accepted): Accepted {
  if (boundTenant !== undefined || result.kind !== "stored" || !result.operatorDeliveries) return result;
  return { ...result, deliveries: result.deliveries + result.operatorDeliveries };
}

/** Fields that the engine does not need, as JSON; metadata keeps its text. */
function describe(item: PublishItem, hops: number, trace: Trace | undefined): string | undefined {
  const parts: string[] = [];
  for (const [name, value] of describeItem(item)) if (value !== undefined) parts.push(`"${name}":${value}`);
  const first = hopsDetail(hops, traceDetail(trace));
  if (parts.length === 0) return first;
  return first === undefined ? `{${parts.join(",")}}` : `${first.slice(0, -1)},${parts.join(",")}}`;
}

/** The same by name, each as JSON. */
export function describeItem(
  item: Partial<Pick<PublishItem, "sourceId" | "userId" | "sessionId" | "deliverAt" | "expiresAt" | "metadata">>,
): readonly (readonly [name: string, json: string | undefined])[] {
  return [
    ["source_id", quote(item.sourceId)],
    ["user_id", quote(item.userId)],
    ["session_id", quote(item.sessionId)],
    ["deliver_at", item.deliverAt === undefined ? undefined : String(item.deliverAt)],
    ["expires_at", item.expiresAt === undefined ? undefined : String(item.expiresAt)],
    ["metadata", item.metadata],
  ];
}

export function quote(text: string | undefined): string | undefined {
  return text === undefined ? undefined : JSON.stringify(text);
}
