import { attemptTrace, partsOf } from "../model/trace-context.ts";
import { headerValue, type HeaderBlock } from "../model/headers.ts";
import type { Attempt } from "./sender.ts";

/** The headers of W3C Trace Context for an attempt. An event's trace was checked when the event came in. */
export function traceLines({ event, deliveryId, number, trace }: Attempt): HeaderBlock {
  // The same id as in the header `webhook-id`: all deliveries of an event belong to one trace.
  const of = { id: headerValue(event.originId ?? event.id), trace: event.trace };
  const { traceparent, tracestate } = partsOf(trace ?? attemptTrace(of, deliveryId, number));
  return `traceparent: ${traceparent}\r\n${tracestate === undefined ? "" : `tracestate: ${tracestate}\r\n`}`;
}
