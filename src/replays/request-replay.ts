import type { IncomingHttpHeaders } from "node:http";
import type { AcceptedRequest } from "../model/accepted.ts";
import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { readKeptRequest } from "../model/event.ts";
import type { Source } from "../model/source.ts";
import type { AuditNote } from "../store/port/audit.ts";
import type { RequestReplay } from "../store/port/event-log.ts";
import type { StoredRequest } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRequest } from "../intake/request.ts";
import type { WebhookReceiver } from "../intake/webhook.ts";

/** Replays requests that were ignored or wrongly rejected, after the configuration was corrected. */
export type RequestReplays = ReturnType<typeof createRequestReplays>;

export interface ReplayedRequest {
  request: StoredRequest;
  outcome: "accepted" | "ignored";
  cause: string | undefined;
}

export function createRequestReplays(options: {
  store: Pick<Store, "events" | "reads">;
  findSource: (name: string) => Source | undefined;
  webhooks: Pick<WebhookReceiver, "replay">;
  clock: Pick<Clock, "wall">;
  /** The entry of the audit log, with the author. */
  describe: (request: StoredRequest, eventIds: readonly string[]) => AuditNote;
}) {
  const { store, findSource, webhooks, clock, describe } = options;
  const running = new Set<string>();

  async function build(stored: StoredRequest): Promise<WebhookRequest> {
    const source = findSource(stored.source);
    // Its events would get another owner: a request belongs to the tenant that owned the source when it came.
    if (source === undefined || source.tenantId !== stored.tenantId) {
      throw new PosthornError("conflict", `The source ${stored.source} of this request no longer exists.`);
    }
    const body = await store.reads.loadRequestBody(stored.id);
    if (body === undefined) {
      throw new PosthornError("conflict", "The body of this request was not kept. Ask its sender to send it again.");
    }
    const { method, path, query, remote_address, headers } = readKeptRequest(stored.facts);
    return {
      source,
      method,
      path,
      query,
      remoteAddress: remote_address,
      headers: headers as IncomingHttpHeaders,
      receivedAt: clock.wall(),
      occurredAt: stored.receivedAt,
      url: "",
      body: Buffer.from(body.buffer, body.byteOffset, body.length),
      keptAs: stored.facts,
    };
  }

  async function replayOnce(stored: StoredRequest, by: string | undefined): Promise<ReplayedRequest> {
    const request = await build(stored);
    const result = await new Promise<AcceptedRequest>((resolve) => webhooks.replay(request, resolve));
    if (result.kind === "rejected") throw result.error;
    if (result.kind === "duplicate" || result.kind === "ignored") {
      return { request: stored, outcome: "ignored", cause: result.kind === "ignored" ? result.cause : "duplicate" };
    }
    const eventIds = result.kind === "several" ? result.eventIds : [result.eventId];
    const replay: RequestReplay = { at: clock.wall(), by, eventIds };
    await store.events.recordRequestReplay(stored.id, replay, describe(stored, eventIds));
    return { request: { ...stored, replay }, outcome: "accepted", cause: undefined };
  }

  return {
    /** The sender is not verified again: an operator vouches for it. Throws the error if it is rejected again. */
    async replay(stored: StoredRequest, by: string | undefined): Promise<ReplayedRequest> {
      if (stored.outcome === "accepted") {
        throw new PosthornError("conflict", `This request was accepted. Replay its event ${stored.eventId ?? ""}.`);
      }
      if (stored.replay !== undefined || running.has(stored.id)) {
        throw new PosthornError("conflict", "This request was already replayed.", {
          details: { event_ids: stored.replay?.eventIds ?? [] },
        });
      }
      running.add(stored.id);
      try {
        return await replayOnce(stored, by);
      } finally {
        running.delete(stored.id);
      }
    },
  };
}
