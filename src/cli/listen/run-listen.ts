import type { StreamEvent, StreamGap } from "../../../sdk/src/generated/shapes.ts";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isTransientStatus } from "../../model/outcome.ts";
import { resolveRetryPolicy } from "../../model/retry-policy.ts";
import type { RetryPolicySpec } from "../../model/subscription.ts";
import { escapeControls, escapeLines } from "../../telemetry/terminal-text.ts";
import { createPaint, findTerminal } from "../terminal.ts";
import { parseUrl } from "../../model/addresses.ts";
import type { ApiClient } from "../api-client.ts";
import { type ClientFlags, connect } from "../connect.ts";
import { followStream } from "../event-stream.ts";
import { CommandFailure, usageFailure } from "../failure.ts";
import { countOf, formatBytes, formatWait, note, print, printEscaped } from "../output.ts";
import { readCount, readTime } from "../read-value.ts";
import { ownFlag } from "../resources/flags.ts";
import type { Call, SingleAction } from "../resources/resource.ts";
import { getSurroundings, openInterruption } from "../surroundings.ts";
import {
  buildDelivery,
  buildReceived,
  type BuiltRequest,
  findListened,
  type Listened,
  NothingToForward,
} from "./build-request.ts";
import { askLocalServer, type LocalAnswer, type LocalRequest, NO_ANSWER } from "./local-server.ts";

interface ListenFlags extends ClientFlags {
  to: string;
  from: string;
  fail?: string;
  verbose?: boolean;
  wait: boolean;
  follow: boolean;
}

const AWAY_RETRY_MS = 1000;

export const ACTION: SingleAction = {
  takes: "[source-or-subscription]",
  flags: [
    ownFlag("--to <url>", "the local server: http://localhost:3000/hooks, or a port", { isRequired: true }),
    ownFlag("--from <when>", "where to begin: now, last (where the last run ended), or how long ago, like 15m", {
      default: "last",
    }),
    ownFlag("--fail <status>", "send nothing, and show what the gateway would do after an answer with this status"),
    ownFlag("-v, --verbose", "show headers and bodies too"),
    ownFlag("--no-wait", "do not wait for a local server that is not running: skip the event"),
    ownFlag("--no-follow", "end after forwarding what exists now"),
  ],
  run: listen,
  notes: `A source's requests are forwarded with their method, path, query, headers and bytes. For a subscription, it forwards the
request that the destination gets, with the gateway's signature (for keys with the scope admin).
Its deliveries continue as usual: the answers of the local server do not affect them.
Without a name, all incoming requests are forwarded.

It reconnects when the connection is lost. Its position is saved for the next run, so nothing that arrives
in the meantime is missed.

Examples:
  posthorn listen github --to http://localhost:3000/hooks
  posthorn listen erp-orders --to 3000 --from 2h --verbose
  posthorn listen erp-orders --to 3000 --fail 503`,
};

async function listen({ args: [given], flags }: Call<ListenFlags>): Promise<void> {
  const to = readTarget(flags.to);
  const fail = flags.fail === undefined ? undefined : readCount(flags.fail, "--fail", { min: 100, max: 599 });
  const client = await connect(flags);
  const listened = await findListened(client, given, flags.follow);
  const file = openPositionFile(client.url, listened.key);
  const start = readStart(flags.from, file);
  const { signal, close } = openInterruption();
  const forwarder = createForwarder(client, listened, { to, fail, flags, signal });
  const frames = followStream(client, {
    query: {
      ...listened.query,
      types: "event",
      body: "base64",
      since: start.since,
      follow: flags.follow ? undefined : "false",
    },
    after: start.after,
    signal,
    // A rehearsal sends nothing: the next run must not miss what it showed.
    ...(fail === undefined && { onPosition: file.save }),
    opening: describeStart(listened, client, start, { to, fail }),
  });
  try {
    for await (const frame of frames) {
      if (frame.event === "gap") noteGap(JSON.parse(frame.data) as StreamGap);
      else if (!(await forwarder.forward(JSON.parse(frame.data) as StreamEvent))) break;
    }
  } finally {
    close();
  }
  if (fail === undefined) noteEnd(forwarder.count, listened, file);
  else note("nothing was forwarded, and the position is where it was; the gateway continues without this command");
}

function readTarget(text: string): URL {
  const host = /^\d+(\/|$)/.test(text) ? `127.0.0.1:${text}` : text;
  const url = parseUrl(/^https?:/.test(host) || !/^[\w.-]+:\d+(\/|$)/.test(host) ? host : `http://${host}`);
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw usageFailure(`--to: "${text}" is not an address; write for example http://localhost:3000/hooks, or a port.`);
}

interface Start {
  after?: string;
  since?: string;
  label: string;
}

function readStart(from: string, { last }: PositionFile): Start {
  if (from === "now" || (from === "last" && last === undefined)) return { label: "from now on" };
  if (last !== undefined && from === "last") {
    return { after: last.position, label: `from where it ended at ${last.at}` };
  }
  const since = readTime(from, "--from");
  return { since, label: `since ${since}` };
}

interface Place {
  to: URL;
  fail: number | undefined;
}

function describeStart(listened: Listened, { url }: ApiClient, { label }: Start, { to, fail }: Place): string {
  const where = fail === undefined ? `forwarding to ${to.href}` : `answering ${fail} in place of ${to.href}`;
  const settles =
    listened.subscription === undefined
      ? ""
      : " Its deliveries continue as usual: answers given here do not affect them.";
  return `listening to ${listened.label} at ${url} ${label}, ${where}; press Ctrl+C to end.${settles}`;
}

function noteGap({ reason, complete_since: since }: StreamGap): void {
  const why = reason === "deleted" ? "events in between were deleted" : "the gateway does not know the last position";
  note(`some events may be missing: ${why}; complete ${since === null ? "from now on" : `since ${since}`}`);
}

function noteEnd(count: number, { label }: Listened, { path }: PositionFile): void {
  note(`${countOf(count, "event")} forwarded; the gateway continues to receive and deliver without this command`);
  note(`listening to ${label} again continues from here; the position is in ${path}`);
}

function createForwarder(
  client: ApiClient,
  listened: Listened,
  { to, fail, flags, signal }: Place & { flags: ListenFlags; signal: AbortSignal },
) {
  const noted = new Set<string>();
  let count = 0;
  /** Undefined: the requests are forwarded as they were received. */
  let subscription = listened.subscription;

  function noteOnce(text: string): void {
    if (!noted.has(text)) note(text);
    noted.add(text);
  }

  async function build(event: StreamEvent): Promise<BuiltRequest> {
    if (event.body_erased_at !== null) {
      throw new NothingToForward("its body was erased, so there is nothing to forward");
    }
    if (subscription !== undefined) {
      const built = await buildDelivery(client, event, subscription.id);
      if (!("problem" in built)) return built;
      noteOnce(`forwarded as it was received, without a signature of the gateway: ${built.problem}`);
      if (built.isFinal) subscription = undefined;
    }
    return buildReceived(client, event, listened);
  }

  /** Undefined when it was interrupted. */
  async function send(built: BuiltRequest): Promise<LocalAnswer | undefined> {
    if (fail !== undefined) return { ...NO_ANSWER, status: fail };
    for (;;) {
      const answer = await askLocalServer(to, built.request, signal);
      if (signal.aborted) return undefined;
      if (answer.isAway !== true || !flags.wait) return answer;
      noteOnce(`no server listens at ${to.href} (${answer.error}); waiting for it, no event is skipped`);
      await wait(AWAY_RETRY_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return undefined;
    }
  }

  function show(event: StreamEvent, { status, error, durationMs, ...answer }: LocalAnswer): void {
    const policy = listened.subscription?.retryPolicy;
    const consequence = policy === undefined ? describeForSource(fail) : describeConsequence(status, policy);
    if (flags.json === true) {
      const result = error === undefined ? { status, duration_ms: durationMs ?? 0 } : { error };
      return print(JSON.stringify({ event_id: event.event_id, event_type: event.event_type, ...result, consequence }));
    }
    printEscaped(describeAnswer(error ?? status ?? 0, error === undefined ? durationMs : undefined, consequence));
    if (flags.verbose === true && error === undefined && fail === undefined) {
      printEscaped(describeWhole(headersOf(answer), answer.body));
    }
  }

  return {
    get count() {
      return count;
    },
    /** Resolves to false when it was interrupted. */
    async forward(event: StreamEvent): Promise<boolean> {
      const built = await build(event).catch((error: unknown) => {
        if (error instanceof NothingToForward) return error;
        throw error;
      });
      if (built instanceof NothingToForward) {
        note(`${event.event_id}: ${built.message}`);
        return true;
      }
      if (built.hidden.length > 0) {
        noteOnce(`headers not forwarded, because the gateway never shows their values: ${built.hidden.join(", ")}`);
      }
      if (flags.json !== true) {
        printEscaped(describeRequest(event, built.request));
        if (flags.verbose === true) printEscaped(describeWhole(built.request.headers, built.request.body));
      }
      const answer = await send(built);
      if (answer === undefined) return false;
      if (fail === undefined) count += 1;
      show(event, answer);
      return true;
    },
  };
}

/** The sender got its answer when the event was on disk. */
function describeForSource(fail: number | undefined): string {
  return fail === undefined ? "" : "the sender already has its answer and does not learn of this";
}

/** Two lines for each event: the request, and the answer of the local server. */

const MAX_SHOWN_BYTES = 4096;

function describeRequest(event: StreamEvent, { method, path, query, body }: LocalRequest): string {
  const paint = createPaint(findTerminal());
  const place = `${path}${query === "" ? "" : `?${query}`}`;
  const facts = [event.event_type, event.event_id, formatBytes(body.length)];
  return [
    paint("dim", event.received_at.slice(11, 19)),
    paint("cyan", "->"),
    escapeControls([method, place, ...facts].filter((part) => part !== "").join("  ")),
  ].join("  ");
}

function describeAnswer(status: number | string, durationMs: number | undefined, consequence: string): string {
  const paint = createPaint(findTerminal());
  const isGood = typeof status === "number" && status >= 200 && status < 300;
  const took = durationMs === undefined ? "" : `${durationMs} ms`;
  return [
    " ".repeat(8),
    paint(isGood ? "green" : "red", "<-"),
    paint(isGood ? "green" : "red", escapeControls(String(status))),
    ...[took, consequence].filter((part) => part !== ""),
  ].join("  ");
}

/** Headers and body, for `--verbose`. Escaped, so that text from senders cannot move the cursor. */
function describeWhole(headers: readonly (readonly [name: string, value: string])[], body: Buffer): string {
  const lines = headers.map(([name, value]) => `    ${escapeControls(`${name}: ${value}`)}`);
  return [...lines, ...describeBody(body)].join("\n");
}

function headersOf({ headers }: Pick<LocalAnswer, "headers">): readonly (readonly [string, string])[] {
  return Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one] as const));
}

function describeBody(body: Buffer): readonly string[] {
  if (body.length === 0) return [];
  const text = body.subarray(0, MAX_SHOWN_BYTES).toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(body.subarray(0, MAX_SHOWN_BYTES)) && !text.includes("\0");
  if (!isText) return ["", `    (${formatBytes(body.length)} of binary data)`];
  const more = body.length > MAX_SHOWN_BYTES ? [`    … ${formatBytes(body.length - MAX_SHOWN_BYTES)} more`] : [];
  return [
    "",
    ...escapeLines(text)
      .split("\n")
      .map((line) => `    ${line}`),
    ...more,
  ];
}

/**
 * What the gateway would do if the destination of a subscription gave this answer to the first attempt. Only the
 * subscription's retries are considered.
 */
function describeConsequence(status: number | undefined, policy: RetryPolicySpec): string {
  if (status !== undefined && status >= 200 && status < 300) return "the delivery would be complete";
  if (status === 410) return "the delivery would be dead, and the subscription suspended";
  if (status !== undefined && !isTransientStatus(status))
    return "the delivery would be dead: such an answer is not retried";
  const { delaysMs } = resolveRetryPolicy(policy);
  const [first] = delaysMs;
  if (first === undefined) return "the delivery would be dead: the subscription has no retries";
  const retries = countOf(delaysMs.length, "retry", "retries");
  return `the delivery would be retried in ${formatWait(first)}; after ${retries} it would be dead`;
}

type PositionFile = ReturnType<typeof openPositionFile>;

/** Saves how far a run has listened, for the next run. One file for each gateway and source or subscription. */
function openPositionFile(url: string, what: string) {
  const name = createHash("sha256").update(`${url}\0${what}`).digest("hex").slice(0, 16);
  const path = join(stateDir(), "posthorn", `listen-${name}.json`);
  let saved: string | undefined;
  return {
    path,
    last: read(path),
    save(position: string): void {
      if (position === saved) return;
      saved = position;
      const text = JSON.stringify({ gateway: url, listens_to: what, position, at: new Date().toISOString() });
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        // Write the whole file or nothing: half a position would be a wrong one.
        writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
        renameSync(`${path}.new`, path);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new CommandFailure(
          `The position cannot be saved in ${path} (${code}). Set XDG_STATE_HOME to a folder that can be written to.`,
        );
      }
    },
  };
}

function stateDir(): string {
  const { XDG_STATE_HOME: given = "", HOME: home = homedir() } = getSurroundings().env;
  return given === "" ? join(home, ".local", "state") : given;
}

function read(path: string): { position: string; at: string } | undefined {
  try {
    const { position, at } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    return typeof position === "string" && typeof at === "string" ? { position, at } : undefined;
  } catch {
    return undefined;
  }
}
