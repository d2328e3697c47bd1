import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { headerLine } from "../../model/headers.ts";
import { HOPS_HEADER } from "../../model/event.ts";
import { blocked, failed, failedHere, postponed } from "../../model/outcome.ts";
import { createSigner } from "../../model/signature.ts";
import type { Subscription } from "../../model/subscription.ts";
import { createTokenRequests, prepareAccess } from "../login.ts";
import type { HttpResult } from "../wire/http.ts";
import { oncePer } from "../once-per.ts";
import type { Attempt, SenderServices } from "../sender.ts";
import { buildInsertUrl, classifyBatch } from "./classify-batch.ts";
import { batchId } from "./rows.ts";
import type { BatchDestination, PostedTo } from "./settings.ts";
import { type Part, type RowResult, sendInParts, type Verdict } from "./split.ts";

/** What is recorded about the request that contained a row. */
export interface RowFacts {
  /** Undefined when nothing was sent. */
  readonly status?: number | undefined;
  readonly address?: string | undefined;
  /** The reason that the destination gave. */
  readonly said?: string | undefined;
  /** Shown to users. */
  readonly record: Readonly<Record<string, unknown>>;
}

export interface SentRow {
  readonly attempt: Attempt;
  readonly row: Buffer;
}

/** Sends the rows of one batch and calls `done` once, with a result for each row, in the order given. */
export type SendRows = (rows: readonly SentRow[], done: (results: readonly RowResult<RowFacts>[]) => void) => void;

const compress = promisify(gzip);
const HELD_BEHIND = { outcome: postponed("not sent: a row before it was rejected", 0), fact: { record: {} } };
type PartDone = (result: Verdict & RowResult<RowFacts>) => void;

/** Posts batches. A rejected batch is posted again in parts. */
export function createPostedBatches(services: SenderServices): SendRows {
  const { client, clock, userAgent, findOwnUrlProblem } = services;
  const requestWithToken = createTokenRequests(services);
  /** When no row of a rejected batch could be sent within one attempt, the next attempt begins with smaller parts. */
  const pieces = new WeakMap<Subscription, number>();

  const prepare = oncePer((subscription: Subscription) => {
    const to = (subscription.destination as BatchDestination).to as PostedTo;
    const access = prepareAccess(to, subscription.tenantId);
    return {
      to,
      headers:
        headerLine("Content-Type", "application/x-ndjson") +
        (access.hasOwnAgent ? "" : headerLine("User-Agent", userAgent)) +
        (to.gzip ? headerLine("Content-Encoding", "gzip") : ""),
      access,
      signer: createSigner(subscription.secrets, subscription),
      problem: to.allowOwnUrl ? undefined : findOwnUrlProblem(to.url),
    };
  });

  async function post(sent: readonly SentRow[], subscription: Subscription, endsAt: number, done: PartDone) {
    const { to, headers: common, access, signer } = prepare(subscription);
    const rows = sent.map(({ row }) => row);
    const attempts = sent.map(({ attempt }) => attempt);
    const id = batchId(rows, attempts);
    const plain = Buffer.concat(rows);
    const body = to.gzip ? await compress(plain) : plain;
    const startedAtS = Math.floor(clock.wall() / 1000);
    const hops = attempts.reduce((most, { event }) => Math.max(most, event.hops ?? 0), 0) + 1;
    const own =
      `Idempotency-Key: ${id}\r\nwebhook-id: ${id}\r\nwebhook-timestamp: ${startedAtS}\r\n` +
      `webhook-signature: ${signer.sign(id, startedAtS, body).standard}\r\n${HOPS_HEADER}: ${hops}\r\n`;
    const request = {
      method: "POST",
      url: to.insert === undefined ? to.url : buildInsertUrl(to.url, to.insert, id),
      headers: own + common,
      originHeaders: access.originHeaders,
      body,
      timeoutMs: Math.max(1, endsAt - clock.now()),
      owner: subscription.tenantId,
      terms: access.terms,
      findHopProblem: to.allowOwnUrl ? undefined : findOwnUrlProblem,
    };
    const record = { batch_id: id, rows: rows.length, bytes: body.length };
    const report = (result: HttpResult) => {
      const options = { retryOn: to.retryOn, isClickHouse: to.insert !== undefined, rowCount: rows.length };
      const status = result.kind === "response" ? result.status : undefined;
      const { said, ...rest } = classifyBatch(result, { ...options, wall: clock.wall });
      done({ ...rest, fact: { status, address: result.address, said, record } });
    };
    const { tokenClient } = access;
    if (tokenClient === undefined) client.request(request, report);
    else requestWithToken(tokenClient, request, report);
  }

  return (sent, done) => {
    const { subscription } = (sent[0] as SentRow).attempt;
    const { problem } = prepare(subscription);
    const { maxRows } = subscription.destination as BatchDestination;
    if (problem !== undefined) return done(sent.map(() => ({ outcome: blocked(problem), fact: { record: {} } })));
    const endsAt = clock.now() + subscription.timeoutMs;
    const pieceRows = pieces.get(subscription) ?? maxRows;
    let isSent = false;
    let isLate = false;
    let hasTaken = false;

    function send(part: Part, ended: PartDone): void {
      if (isSent && clock.now() >= endsAt) {
        isLate = true;
        const error = `not all parts of the batch could be sent within ${subscription.timeoutMs} ms; this row was not`;
        const outcome = failed(error, { result: "timeout", says: "nothing" });
        return ended({ verdict: "stopped", outcome, fact: { record: {} } });
      }
      isSent = true;
      const rows = sent.slice(part.start, part.end);
      post(rows, subscription, endsAt, (result) => {
        if (result.verdict === "taken") hasTaken = true;
        ended(result);
      }).catch((error: unknown) => {
        const outcome = failedHere(`the batch could not be created: ${String(error)}`);
        ended({ verdict: "stopped", outcome, fact: { record: {} } });
      });
    }

    sendInParts<RowFacts>({
      rowCount: sent.length,
      pieceRows,
      heldBehind: subscription.ordered && subscription.onDeadHead === "block" ? HELD_BEHIND : undefined,
      send,
      done(results, stoppedAt) {
        if (isLate && !hasTaken) pieces.set(subscription, stoppedAt ?? 1);
        else if (pieceRows < maxRows) pieces.set(subscription, Math.min(maxRows, pieceRows * 2));
        done(results);
      },
    });
  };
}
