import { createHash } from "node:crypto";
import { mayBeJson } from "../../model/json.ts";
import { PosthornError } from "../../model/errors.ts";
import { createThreadLines, type Send, Overdue } from "../threads/thread-lines.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SentFacts } from "./template-scope.ts";
import type { EventTypeSchema, Rendered, Template, TemplateFacts, Templates } from "./templates.ts";

interface Waiting {
  readonly set: TemplateSet;
  readonly facts: SentFacts;
  readonly byteLength: number;
  readonly since: number;
  readonly done: (rendered: Rendered) => void;
}

type ExamineTerms = NonNullable<Parameters<Templates["examine"]>[2]>;

interface Examined {
  readonly problems: readonly FieldProblem[];
  /** Set when it took longer than this; another time it may not. */
  readonly tooLong?: { withinMs: number; until: number };
}

/** A list of templates that the threads know by its number. */
interface TemplateSet {
  readonly number: number;
  readonly templates: readonly Template[];
}

/** The file has the same name in the source tree and in a build. */
const THREAD = new URL(`./template-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/** Renderings that wait for one subscription are sent to the thread together, up to this number. */
const MAX_BATCH = 32;
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** After this wait, a rendering fails for now and is requested again later. */
const MAX_WAIT_MS = 5000;
const EXAMINATIONS = { line: "examinations" };
/** Somebody who works on a template examines the same texts again, and then saves them. */
const MAX_EXAMINED = 1000;
/** The last of many templates has this time at least. */
const MIN_EXAMINE_MS = 100;
const TOO_LONG_FOR_MS = 60_000;

/** `renderMs`, `examineMs`: the time that a thread may work on one call. */
export function openTemplates({ renderMs = 1000, examineMs = 10_000 } = {}): Templates {
  const lines = createThreadLines<TemplateCall, TemplateReply>({
    maxThreads: 2,
    keepFirst: true,
    thread: THREAD,
    // Enough for the values of the largest accepted body and the result.
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  const sets = new WeakMap<readonly Template[], TemplateSet>();
  const queues = new Map<string, Waiting[]>();
  const open = new Set<Waiting>();
  const examined = new Map<string, Examined>();
  const schemaNumbers = new WeakMap<object, number>();
  let lastSet = 0;
  let lastSchema = 0;

  function setOf(templates: readonly Template[]): TemplateSet {
    let set = sets.get(templates);
    if (set === undefined) sets.set(templates, (set = { number: ++lastSet, templates }));
    return set;
  }

  function settle(one: Waiting, rendered: Rendered): void {
    if (open.delete(one)) one.done(rendered);
  }

  /** Renderings that come before a thread is free join the waiting batch. */
  function queue(line: string, one: Waiting): void {
    const queued = queues.get(line);
    if (queued !== undefined) {
      const bytes = queued.reduce((sum, { byteLength }) => sum + byteLength, one.byteLength);
      if (bytes > MAX_LINE_BYTES) return settle(one, busy("too much is waiting to be rendered"));
      queued.push(one);
      return;
    }
    queues.set(line, [one]);
    lines
      .run(line, one.byteLength, (send) => renderNext(line, send))
      .catch((error: Error) => takeQueue(line).forEach((left) => settle(left, busy(error.message))));
  }

  async function renderNext(line: string, send: Send<TemplateCall, TemplateReply>): Promise<void> {
    const queued = takeQueue(line);
    while (queued.length > 0) {
      const [late, inTime] = partLate(takeBatch(queued));
      for (const one of late) settle(one, busy("rendering had to wait too long"));
      if (inTime.length > 0) await renderTogether(inTime, send);
    }
  }

  async function renderTogether(batch: Waiting[], send: Send<TemplateCall, TemplateReply>): Promise<void> {
    try {
      let replies = await ask(batch, false, send);
      if (replies.some((reply) => "missing" in reply)) replies = await ask(batch, true, send);
      batch.forEach((one, i) => settle(one, toRendered(replies[i])));
    } catch (error) {
      const [only] = batch;
      if (only !== undefined && batch.length === 1) return settle(only, toFault(error));
      // One of the batch caused it, so each is rendered alone.
      for (const one of batch) await renderTogether([one], send);
    }
  }

  async function ask(batch: readonly Waiting[], withTemplates: boolean, send: Send<TemplateCall, TemplateReply>) {
    const render = batch.map(({ set, facts }): RenderJob => ({
      set: set.number,
      templates: withTemplates ? set.templates : undefined,
      facts,
    }));
    const reply = await send({ render }, renderMs);
    return "rendered" in reply ? reply.rendered : [];
  }

  function takeQueue(line: string): Waiting[] {
    const queued = queues.get(line) ?? [];
    queues.delete(line);
    return queued;
  }

  /** The registry keeps the same object for a schema until the gateway ends. */
  function numberOf({ schema }: EventTypeSchema): number {
    const number = schemaNumbers.get(schema) ?? ++lastSchema;
    schemaNumbers.set(schema, number);
    return number;
  }

  function keyOf({ name, text, place, isBuiltIn, own }: Template, schemas: readonly number[]): string {
    const facts = JSON.stringify([name, text, place, isBuiltIn, own, schemas]);
    return createHash("sha256").update(facts).digest("base64");
  }

  function keepExamined(key: string, result: Examined): void {
    examined.delete(key);
    const [oldest] = examined.size >= MAX_EXAMINED ? examined.keys() : [];
    if (oldest !== undefined) examined.delete(oldest);
    examined.set(key, result);
  }

  function findExamined(key: string, withinMs: number): readonly FieldProblem[] | undefined {
    const { problems, tooLong } = examined.get(key) ?? {};
    const isStale = tooLong !== undefined && (tooLong.withinMs < withinMs || tooLong.until < performance.now());
    return isStale ? undefined : problems;
  }

  return {
    async examine(templates, schemas = [], { line, withinMs = examineMs }: ExamineTerms = EXAMINATIONS) {
      const numbers = schemas.map(numberOf);
      const list = templates.map((template) => ({ template, key: keyOf(template, numbers) }));
      const found = new Map(list.map(({ key }) => [key, findExamined(key, withinMs)]));
      const asked = list.filter(({ key }) => found.get(key) === undefined);
      const bytes = asked.reduce((sum, { template }) => sum + template.text.length, 0);
      const examineAll = async (send: Send<TemplateCall, TemplateReply>): Promise<void> => {
        const endAt = performance.now() + withinMs;
        for (const { template, key } of asked) {
          const leftMs = Math.max(MIN_EXAMINE_MS, endAt - performance.now());
          try {
            const reply = await send({ examine: [template], schemas }, leftMs);
            const problems = "problems" in reply ? reply.problems : [];
            found.set(key, problems);
            keepExamined(key, { problems });
          } catch (error) {
            if (!(error instanceof Overdue)) throw error;
            const problems = [{ field: template.name, message: TOO_LONG }];
            found.set(key, problems);
            const until = performance.now() + TOO_LONG_FOR_MS;
            return keepExamined(key, { problems, tooLong: { withinMs, until } });
          }
        }
      };
      if (asked.length > 0) await lines.run(line, bytes, examineAll);
      return list.flatMap(({ key }) => found.get(key) ?? []);
    },
    render: (templates, facts, line = facts.subscription?.id ?? facts.event.tenantId) =>
      new Promise((done) => {
        const sent = toSent(facts);
        const byteLength = sent.body.length + (sent.request?.length ?? 0) + (sent.details?.length ?? 0);
        const one: Waiting = { set: setOf(templates), facts: sent, byteLength, since: performance.now(), done };
        open.add(one);
        queue(line, one);
      }),
    async close() {
      // Before the threads end: a rendering must not fail for good because of that.
      for (const one of open) settle(one, busy("the gateway stops"));
      await lines.close();
    },
  };
}

const TOO_LONG = "takes too long";

function takeBatch(queued: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(MAX_BATCH, queued.length)) {
    bytes += queued[count]?.byteLength ?? 0;
    if (count > 0 && bytes > MAX_BATCH_BYTES) break;
    count++;
  }
  return queued.splice(0, count);
}

function partLate(batch: readonly Waiting[]): [late: Waiting[], inTime: Waiting[]] {
  const since = performance.now() - MAX_WAIT_MS;
  return [batch.filter((one) => one.since < since), batch.filter((one) => one.since >= since)];
}

function toRendered(reply: JobReply | undefined): Rendered {
  if (reply === undefined || "missing" in reply) return busy("it could not be rendered now");
  return "texts" in reply ? reply : { fault: reply.fault, isPassing: false };
}

/** For a single rendering: a thread that fails twice has failed because of it. */
function toFault(error: unknown): Rendered {
  if (error instanceof Overdue) return { fault: `rendering ${TOO_LONG}`, isPassing: false };
  if (error instanceof PosthornError) return { fault: "rendering takes too much memory", isPassing: false };
  return busy(error instanceof Error ? error.message : String(error));
}

function busy(fault: string): Rendered {
  return { fault, isPassing: true };
}

/** As texts, which are cheap to pass to a thread. */
function toSent({ event, request, details, subscription, delivery, own }: TemplateFacts): SentFacts {
  const { body } = event;
  return {
    event: {
      id: event.originId ?? event.id,
      type: event.type,
      version: event.version,
      source: event.source,
      tenant_id: event.tenantId,
      priority: event.priority,
      timestamp: new Date(event.occurredAt).toISOString(),
      ordering_key: event.orderingKey,
    },
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"),
    isJson: event.origin === "publish" || mayBeJson(event.contentType),
    request,
    details,
    subscription: subscription && { id: subscription.id, name: subscription.name },
    delivery: delivery && { id: delivery.id, attempt: delivery.attempt },
    own,
  };
}

/** A call to the thread: examine templates, or render with sets that it knows or gets. */
export type TemplateCall =
  | { readonly examine: readonly Template[]; readonly schemas: readonly EventTypeSchema[] }
  | { readonly render: readonly RenderJob[] };

export interface RenderJob {
  /** The number under which the thread keeps the set. */
  readonly set: number;
  readonly templates: readonly Template[] | undefined;
  readonly facts: SentFacts;
}

export type TemplateReply = { readonly problems: readonly FieldProblem[] } | { readonly rendered: readonly JobReply[] };

export type JobReply =
  | { readonly texts: readonly string[] }
  | { readonly fault: string }
  /** The thread does not know the set: send it again with its templates. */
  | { readonly missing: true };
