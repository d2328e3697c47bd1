import type { Accepted } from "../model/accepted.ts";
import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { readKeptRequest, writeKeptRequest } from "../model/event.ts";
import { isGatewayEventType } from "../model/pattern.ts";
import type { Subscription } from "../model/subscription.ts";
import type { IncomingEvent } from "../accept/fan-out.ts";
import type { Accept } from "../accept/ingest.ts";
import type { StoredEvent } from "../store/port/reads.ts";
import type { Masking } from "../accept/masking.ts";
import type { SchemaChecker } from "../sandbox/checks/schema-check.ts";
import { checkJsonText } from "../sandbox/text/json-text.ts";

/** Events are never changed: an edited event is sent as a new one that refers to the first. */
export type EditedReplays = ReturnType<typeof createEditedReplays>;

/** The details of the first event, without its delivery time and expiry, which were meant for then. */
const KEPT_DETAILS = ["source_id", "user_id", "session_id", "metadata"];

export function createEditedReplays(options: {
  accept: Accept;
  clock: Pick<Clock, "wall" | "now">;
  createId: (prefix: "evt") => string;
  schemas: Pick<SchemaChecker, "find" | "check">;
  masking: Pick<Masking, "mask">;
  maxDepth: number;
}) {
  const { accept, clock, createId, schemas, masking, maxDepth } = options;

  function edit(event: StoredEvent, body: Buffer): IncomingEvent {
    return {
      id: createId("evt"),
      givenId: false,
      type: event.type,
      version: event.version,
      source: event.source,
      tenantId: event.tenantId,
      priority: event.priority,
      origin: event.origin,
      occurredAt: event.occurredAt,
      receivedAt: clock.wall(),
      dueAt: clock.now(),
      expiresAt: undefined,
      orderingKey: event.orderingKey,
      dedupeKey: undefined,
      replayKey: undefined,
      contentType: "application/json",
      request: withoutSealed(event.request),
      details: nameOriginal(event),
      body,
      fanOutCursor: undefined,
    };
  }

  return {
    /**
     * `payload`: JSON, delivered exactly as written. `onId` gets the new id before anything is stored. `to`: only these
     * subscriptions get it, whether or not they want it; undefined for those that do.
     */
    async replay(
      event: StoredEvent,
      payload: Buffer,
      onId: (eventId: string) => Promise<void>,
      to?: readonly Subscription[],
    ): Promise<{ eventId: string; deliveries: number; operatorDeliveries?: number | undefined }> {
      if (isGatewayEventType(event.type)) {
        throw new PosthornError("conflict", `${event.type} is an event of the gateway itself and cannot be edited.`);
      }
      checkJsonText(payload, maxDepth);
      const edited = edit(event, payload);
      const type = schemas.find(edited.type);
      const checked = type === undefined ? edited : await schemas.check(type, edited, true);
      await onId(edited.id);
      return new Promise((resolve, reject) => {
        const done = (result: Accepted) => {
          if (result.kind === "stored") resolve(result);
          else reject(result.kind === "rejected" ? result.error : new Error(`the new id ${edited.id} already exists`));
        };
        accept(masking.mask(checked), done, to);
      });
    },
  };
}

/** Credentials are encrypted for the event that they came with. */
function withoutSealed(request: string | undefined): string | undefined {
  if (request === undefined) return undefined;
  const { sealed: _, ...rest } = readKeptRequest(request);
  return writeKeptRequest(rest);
}

function nameOriginal({ id, details }: StoredEvent): string {
  const known = details === undefined ? {} : (JSON.parse(details) as Record<string, unknown>);
  const kept = Object.entries(known).filter(([name]) => KEPT_DETAILS.includes(name));
  return JSON.stringify({ ...Object.fromEntries(kept), replay_of: id });
}
