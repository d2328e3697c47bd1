import { parseUrl } from "../model/addresses.ts";
import type { RunningSpan, Tracing } from "../telemetry/tracing.ts";
import type { OpenSenders } from "./attempt.ts";
import type { Attempt, AttemptReport } from "../destinations/sender.ts";

/** Adds a span to each attempt; its id is sent in `traceparent`. */
export function traceSenders(senders: OpenSenders, tracing: Tracing): OpenSenders {
  return {
    find(kind) {
      const sender = senders.find(kind);
      if (sender === undefined) return undefined;
      return {
        limitsOf: (subscription) => sender.limitsOf(subscription),
        send(attempts, done) {
          const spans = attempts.map((attempt) => startSpan(attempt, tracing));
          const traced = attempts.map((attempt, i) => ({ ...attempt, trace: spans[i]?.trace }));
          sender.send(traced, (reports) => {
            spans.forEach((span, i) => span !== undefined && endSpan(span, reports[i]));
            done(reports);
          });
        },
      };
    },
    close: () => senders.close(),
  };
}

function startSpan({ event, subscription, deliveryId, number }: Attempt, tracing: Tracing): RunningSpan | undefined {
  const attributes = {
    "messaging.system": "posthorn",
    "messaging.operation.name": "deliver",
    "messaging.operation.type": "send",
    "messaging.destination.name": subscription.name,
    "messaging.message.id": event.id,
    "messaging.message.body.size": event.body.length,
    "posthorn.event_type": event.type,
    "posthorn.tenant_id": event.tenantId,
    "posthorn.delivery_id": deliveryId,
    "posthorn.attempt": number,
    "posthorn.kind": subscription.kind,
  };
  return tracing.startAttempt(`deliver ${subscription.name}`, attributes, event.trace);
}

function endSpan(span: RunningSpan, report: AttemptReport | undefined): void {
  if (report === undefined) return span.end({}, { type: "error", reason: "the sender reported nothing" });
  const { outcome, record } = report;
  const place = findHttpPlace(record.url);
  const status = place === undefined ? undefined : record.responseCode;
  const attributes = {
    "posthorn.outcome": outcome.postponedMs === undefined ? outcome.kind : "postponed",
    ...(place !== undefined && { "server.address": place.hostname }),
    ...(status !== undefined && { "http.response.status_code": status }),
  };
  // A limit of our own postponed it: nothing was sent, and nothing failed.
  const isWell = outcome.kind === "delivered" || outcome.postponedMs !== undefined;
  if (isWell) return span.end(attributes);
  const isAnswered = status !== undefined && outcome.result === "failed";
  span.end(attributes, { type: isAnswered ? String(status) : outcome.result, reason: outcome.error });
}

/** Only the host is recorded: paths and queries of destinations may hold secrets. */
function findHttpPlace(url: string | undefined): URL | undefined {
  return url !== undefined && /^https?:/.test(url) ? parseUrl(url) : undefined;
}
