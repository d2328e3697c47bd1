import type { Database } from "./connection.ts";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { ATTEMPT_TRIGGERS, type AttemptRecord, type DeliveryKey } from "../port/lanes.ts";
import { createAttemptForms, createUnusedFormRemoval } from "./attempt-forms.ts";

/** A key in `meta`: the number of the last attempt if that is deleted, because readers of the log rely on it. */
const LAST_ATTEMPT_SEQ = "last_attempt_seq";

export function readLastAttemptSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from attempts), 0),
      coalesce((select value from meta where key = '${LAST_ATTEMPT_SEQ}'), 0)) as seq`);
  return select.get().seq;
}

/** Run before attempts are deleted. `deliveries` is a condition on `d` that selects their deliveries. */
function keepLastAttemptOf(deliveries: string): string {
  return `
    insert or replace into meta (key, value)
    select '${LAST_ATTEMPT_SEQ}', d.last_attempt from deliveries d
    where ${deliveries} and d.last_attempt = (select max(seq) from attempts)`;
}

export interface AttemptPlace {
  /** Null for the first attempt. */
  seq: number | null;
  number: number;
}

const chainOf = (deliveries: string) => `
  with recursive chain (seq, previous) as (
    select a.seq, a.previous from deliveries d join attempts a on a.seq = d.last_attempt
    where ${deliveries}
    union all
    select a.seq, a.previous from chain join attempts a on a.seq = chain.previous)`;

/** All attempts of the delivery ?1, ?2, the last first. */
const CHAIN = chainOf("d.event_seq = ?1 and d.subscription_seq = ?2");

export const SELECT_ATTEMPTS = `${CHAIN}
  select number, started_at as startedAt, duration_ms as durationMs, result, cause, response_code as code,
    response_headers as facts, response_body as answer, error, coalesce(f.url, a.url) as place,
    coalesce(f.address, a.address) as address, coalesce(f.request_headers, a.request_headers) as sent, a.signatures
  from attempts a left join attempt_forms f on f.seq = a.form where a.seq in (select seq from chain)
  order by number limit 1000`;

/** Attempts as they were recorded. A delivery points to its last attempt, and each attempt to the one before. */
export function createAttemptLog(db: Database) {
  const insert = db.prepare(`
    insert into attempts (seq, previous, event_seq, subscription_seq, number, started_at, duration_ms, result, cause, url,
      address, request_headers, response_code, response_headers, response_body, error, form, signatures)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const forms = createAttemptForms(db);
  let nextSeq = readLastAttemptSeq(db) + 1;

  return {
    get nextSeq(): number {
      return nextSeq;
    },
    /** Records the last attempt of a delivery; the caller updates the delivery's pointer. */
    append({ eventSeq, subscriptionSeq }: DeliveryKey, place: AttemptPlace, attempt: AttemptRecord): void {
      const seq = nextSeq++;
      const { record } = attempt;
      const formed = forms.fit(seq, subscriptionSeq, record);
      const plain = formed === undefined ? record : undefined;
      insert.get(
        seq,
        place.seq,
        eventSeq,
        subscriptionSeq,
        place.number,
        attempt.startedAt,
        Math.round(attempt.durationMs),
        ATTEMPT_RESULTS.indexOf(attempt.result),
        ATTEMPT_TRIGGERS.indexOf(attempt.trigger),
        plain?.place ?? null,
        plain?.address ?? null,
        plain?.sent ?? null,
        record.code ?? null,
        record.facts ?? null,
        record.answer ?? null,
        attempt.error ?? null,
        formed?.form ?? null,
        formed?.signatures ?? null,
      );
    },
    /** Reads the forms again, after some were removed. */
    forgetForms: forms.rollback,
    rollback() {
      nextSeq = readLastAttemptSeq(db) + 1;
      forms.rollback();
    },
  };
}

export function createAttempts(db: Database) {
  const selectLast = db.prepare(`
    select d.last_attempt as seq, coalesce(a.number, 0) as number
    from deliveries d left join attempts a on a.seq = d.last_attempt
    where d.event_seq = ? and d.subscription_seq = ?`);
  const selectStart = db.prepare(`${CHAIN}
    select started_at from attempts where seq in (select seq from chain) and number = ?3`);
  const keepLast = db.prepare(keepLastAttemptOf("d.event_seq = ?1 and d.subscription_seq = ?2"));
  const deleteChain = db.prepare(`${CHAIN} delete from attempts where seq in (select seq from chain)`);
  const pointAtNone = db.prepare(
    "update deliveries set last_attempt = null where event_seq = ? and subscription_seq = ?",
  );

  return {
    /** Undefined when the delivery does not exist. */
    findLast: ({ eventSeq, subscriptionSeq }: DeliveryKey): AttemptPlace | undefined =>
      selectLast.get(eventSeq, subscriptionSeq),
    findStart: ({ eventSeq, subscriptionSeq }: DeliveryKey, number: number): number | undefined =>
      selectStart.get(eventSeq, subscriptionSeq, number)?.started_at,
    deleteAll({ eventSeq, subscriptionSeq }: DeliveryKey): void {
      keepLast.run(eventSeq, subscriptionSeq);
      deleteChain.run(eventSeq, subscriptionSeq);
      pointAtNone.run(eventSeq, subscriptionSeq);
    },
  };
}

export function createAttemptsOfEvents(db: Database) {
  const keepLast = db.prepare(keepLastAttemptOf("d.event_seq between ?1 and ?2"));
  const deleteChains = db.prepare(`
    ${chainOf("d.event_seq between ?1 and ?2")} delete from attempts where seq in (select seq from chain)`);
  const answered = "(response_headers is not null or response_body is not null)";
  const ofEvent = chainOf("d.event_seq = ?1");
  const eraseAnswers = db.prepare(`
    ${ofEvent} update attempts set response_headers = null, response_body = null
    where seq in (
      select seq from attempts where seq in (select seq from chain) and started_at <= ?2 and ${answered} limit ?3)`);
  const selectForms = db.prepare(`
    ${ofEvent} select distinct form from attempts where seq in (select seq from chain) and form is not null`);
  const eraseRequests = db.prepare(`
    ${ofEvent} update attempts set url = null, request_headers = null, error = null, form = null, signatures = null
    where seq in (select seq from chain)`);
  const removeUnused = createUnusedFormRemoval(db);
  const selectFirst = db.prepare(`
    ${ofEvent} select min(started_at) as at from attempts where seq in (select seq from chain) and ${answered}`);

  return {
    /** Must run before the deliveries are deleted, because they lead to the attempts. */
    delete(firstEvent: number, lastEvent: number): void {
      keepLast.run(firstEvent, lastEvent);
      deleteChains.run(firstEvent, lastEvent);
    },
    /** Erases answers of attempts started up to `until`, at most `limit`; returns how many. */
    eraseAnswers: (eventSeq: number, until: number, limit: number): number =>
      eraseAnswers.run(eventSeq, until, limit).changes,
    /** Erases what was sent, and why it failed: both may repeat values of the body. */
    eraseRequests(eventSeq: number): void {
      const forms: { form: number }[] = selectForms.all(eventSeq);
      eraseRequests.run(eventSeq);
      // Attempts of other events that still share the form sent the same.
      for (const { form } of forms) removeUnused(form);
    },
    /** When the first attempt began whose answer is still kept. */
    findFirstAnswer: (eventSeq: number): number | undefined => selectFirst.get(eventSeq).at ?? undefined,
  };
}
