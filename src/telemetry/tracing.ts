import {
  createTraceState,
  isSpanContextValid,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as api,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type TracerProvider,
} from "@opentelemetry/api";
import { partsOf, type Trace } from "../model/trace-context.ts";
import type { Clock, Timer } from "../model/clock.ts";
import type { Logger } from "./logger.ts";

/** Spans for the OpenTelemetry SDK that was loaded into this process. None of its methods throws. */
export interface Tracing {
  /** Starts the span of an accepted event, as a child of its trace. Undefined when the SDK creates no valid span. */
  startAccept(name: string, attributes: Attributes, parent: Trace | undefined): RunningSpan | undefined;
  /** Starts the span of an attempt, as a child of the event's trace and linked to it. */
  startAttempt: Tracing["startAccept"];
  /** Makes the SDK export its spans before the process ends. Never rejects; waits as long as the SDK does. */
  flush(): Promise<void>;
}

export interface RunningSpan {
  /** Its trace with its own id, as the parent of what follows. */
  readonly trace: Trace;
  /** May be called once. `type`: one of few values, for grouping. */
  end(attributes: Attributes, failure?: { readonly type: string; readonly reason: string | undefined }): void;
}

/** Where all copies of the API find the SDK; see its `internal/global-utils`. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/** Undefined when no SDK was registered before: then nothing is traced, at no cost for each event. */
export function findTracing(logger: Pick<Logger, "info" | "warn" | "error">): Tracing | undefined {
  const provider = api.getTracerProvider();
  // Without an SDK the API returns its own provider, which does nothing.
  const isOwn = provider instanceof ProxyTracerProvider && provider.getDelegateTracer("posthorn") === undefined;
  if (!isOwn) {
    logger.info("an OpenTelemetry SDK is loaded, spans are recorded");
    return createTracing(provider, logger);
  }
  const { version, trace } = (globalThis as { [REGISTRY]?: Registered })[REGISTRY] ?? {};
  if (trace !== undefined) {
    logger.warn({ version }, "no spans are recorded: the SDK was registered with an @opentelemetry/api before 1.9");
  }
  return undefined;
}

interface Registered {
  version?: string;
  trace?: unknown;
}

function createTracing(provider: TracerProvider, logger: Pick<Logger, "error">): Tracing {
  const tracer = provider.getTracer("posthorn");
  let hasFailed = false;

  /** Logged once: an error for one event repeats for every event. */
  function recordFault(error: unknown): void {
    if (!hasFailed) logger.error({ error }, "the OpenTelemetry SDK failed, spans may be missing");
    hasFailed = true;
  }

  /** Samplers and processors are the operator's code: their errors must not lose an event. */
  function guarded<Result>(act: () => Result): Result | undefined {
    try {
      return act();
    } catch (error) {
      recordFault(error);
      return undefined;
    }
  }

  function run(span: Span): RunningSpan | undefined {
    const own = span.spanContext();
    if (!isSpanContextValid(own)) return undefined;
    return {
      trace: writeContext(own),
      end: (attributes, failure) =>
        guarded(() => {
          span.setAttributes(attributes);
          if (failure !== undefined) {
            const { type, reason } = failure;
            span.setAttribute("error.type", type);
            span.setStatus({ code: SpanStatusCode.ERROR, ...(reason !== undefined && { message: reason }) });
          }
          span.end();
        }),
    };
  }

  function createStart(kind: SpanKind, isLinked: boolean): Tracing["startAccept"] {
    return (name, attributes, parent) =>
      guarded(() => {
        const remote = parent === undefined ? undefined : readContext(parent);
        const links = isLinked && remote !== undefined ? [{ context: remote }] : [];
        return run(tracer.startSpan(name, { kind, attributes, links }, childOf(remote)));
      });
  }

  return {
    startAccept: createStart(SpanKind.CONSUMER, false),
    startAttempt: createStart(SpanKind.PRODUCER, true),
    async flush() {
      try {
        const sdk: object = "getDelegate" in provider ? (provider as ProxyTracerProvider).getDelegate() : provider;
        if ("forceFlush" in sdk && typeof sdk.forceFlush === "function") await sdk.forceFlush();
      } catch (error) {
        recordFault(error);
      }
    },
  };
}

/** Never a child of the active span: events of several requests are processed together. */
function childOf(parent: SpanContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : api.setSpanContext(ROOT_CONTEXT, parent);
}

function readContext(trace: Trace): SpanContext {
  const { traceparent, tracestate } = partsOf(trace);
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  const traceFlags = Number.parseInt(flags, 16);
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return tracestate === undefined ? context : { ...context, traceState: createTraceState(tracestate) };
}

function writeContext({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const state = traceState?.serialize() ?? "";
  const parent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  return state === "" ? parent : `${parent} ${state}`;
}

/** No longer than this: a collector that does not answer must not keep the gateway from stopping. */
const FLUSH_MS = 2000;

export async function flushSpans(tracing: Tracing, clock: Clock): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => (timer = clock.setTimer(clock.now() + FLUSH_MS, resolve)));
  await Promise.race([tracing.flush(), late]);
  timer?.cancel();
}
