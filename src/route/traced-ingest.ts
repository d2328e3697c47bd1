import { replaceTrace, traceOf } from "../domain/trace-context.ts";
import type { RunningSpan, Tracing } from "../telemetry/tracing.ts";
import type { IngestResult } from "./fan-out.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import type { Accept, Ingest } from "./ingest.ts";

/**
 * `Ingest` with a span for each event that ends when the event is on disk. The span becomes the event's trace, so its attempts
 * belong to it, also after a restart. Planned events have no span, because a plan may be dropped.
 */
export function traceIngest(ingest: Ingest, tracing: Tracing): Ingest {
  const traced =
    (accept: Accept): Accept =>
    (event, done, to) => {
      const span = startSpan(event);
      if (span === undefined) return accept(event, done, to);
      const answer = (result: IngestResult) => {
        endSpan(span, result);
        done(result);
      };
      accept({ ...event, details: replaceTrace(event.details, span.trace) }, answer, to);
    };

  function startSpan(event: IncomingEvent): RunningSpan | undefined {
    const attributes = {
      "messaging.system": "posthorn",
      "messaging.operation.name": "accept",
      "messaging.operation.type": "process",
      "messaging.destination.name": event.type,
      "messaging.message.id": event.id,
      "messaging.message.body.size": event.body.length,
      "posthorn.source": event.source,
      "posthorn.tenant_id": event.tenantId,
    };
    return tracing.startAccept(`accept ${event.type}`, attributes, traceOf(event.details));
  }

  return { accept: traced(ingest.accept), acceptOwn: traced(ingest.acceptOwn), plan: ingest.plan };
}

function endSpan(span: RunningSpan, result: IngestResult): void {
  const outcome = { "posthorn.outcome": result.kind };
  switch (result.kind) {
    case "stored":
      return span.end({ ...outcome, "posthorn.deliveries": result.deliveries });
    case "duplicate":
      return span.end({ ...outcome, "posthorn.duplicate_of": result.eventId });
    case "failed":
      return span.end(outcome, { type: result.error.code, reason: result.error.message });
  }
}
