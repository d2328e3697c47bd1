/** Watches a simulated gateway at work and notes every promise that it breaks while it runs. */
import type { SchedulerOptions } from "../../src/deliver/scheduler.ts";
import { formatDeliveryId, parseDeliveryId } from "../../src/model/ids.ts";
import { resolveRetryPolicy } from "../../src/model/retry-policy.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import type { ClaimedDelivery, DeliveryKey } from "../../src/store/port/lanes.ts";
import type { Arrival } from "../support/accounting.ts";
import type { Sending } from "../support/simulated-destination.ts";
import type { SimulatedGatewayOptions } from "../support/simulated-gateway.ts";
import type { VirtualTime } from "../support/virtual-clock.ts";

export interface Observer {
  readonly arrivals: readonly Arrival[];
  readonly violations: readonly string[];
  readonly attempts: number;
  readonly interruptedAccepted: number;
  violation(text: string): void;
  trace(text: string): void;
  readonly tail: readonly string[];
  /** The scheduler lets a delivery go. */
  dispatched: NonNullable<SimulatedGatewayOptions["onDispatch"]>;
  sent(sending: Sending, facts: { now: number; inFlight: Iterable<Sending> }): void;
  attempted: NonNullable<SchedulerOptions["onAttempt"]>;
  modeChanged: SchedulerOptions["onMode"];
  /** An operator had his hand in it: its times are no longer those of the schedule. */
  touched(key: DeliveryKey): void;
  /** From here on an attempt may end without being counted, because our own stop cuts it. */
  stopBegan(): void;
  /** The gateway stopped while these were being sent. */
  interrupted(inFlight: Iterable<Sending>, now: number): void;
  interruptionsOf(deliveryId: string): number;
  triesOf(key: DeliveryKey, generation: number): number;
  lastSendAt(subscriptionSeq: number): number;
}

/** The gateway's clock follows a wall clock that jumped at this speed at most. */
const FASTEST_CLOCK = 1.1;
const HASTENING_MS = 1_000;
/** A success is acted on so much later at most. */
const ACTED_ON_MS = 1_100;
const TAIL_LINES = 80;

interface NextTry {
  at: number;
  /** When the last one failed, and whether that had been brought forward. */
  failedAt: number;
  wasEarly: boolean;
}

export function createObserver(time: VirtualTime): Observer {
  const arrivals: Arrival[] = [];
  const violations: string[] = [];
  const tail: string[] = [];
  const notBefore = new Map<number, Map<number, NextTry>>();
  /** When a lane's destination last took something, and which deliveries went before their time because of it. */
  const takenAt = new Map<number, number>();
  const early = new Set<string>();
  const tries = new Map<string, number>();
  const interruptions = new Map<string, number>();
  const lastSend = new Map<number, number>();
  const buckets = new Map<number, { tokens: number; at: number; perS: number }>();
  const closedAt = new Map<number, number>();
  const probes = new Map<number, ClaimedDelivery>();
  let attempts = 0;
  let interruptedAccepted = 0;
  let isStopping = false;

  function trace(text: string): void {
    tail.push(`${(time.elapsedMs / 1000).toFixed(3).padStart(12)} s  ${text}`);
    if (tail.length > TAIL_LINES) tail.shift();
  }

  function violation(text: string): void {
    violations.push(`at ${(time.elapsedMs / 1000).toFixed(3)} s: ${text}`);
    trace(`VIOLATION ${text}`);
  }

  function ofLane(seq: number): Map<number, NextTry> {
    let lane = notBefore.get(seq);
    if (lane === undefined) notBefore.set(seq, (lane = new Map()));
    return lane;
  }

  function noteInterrupted(deliveryId: string): void {
    interruptions.set(deliveryId, (interruptions.get(deliveryId) ?? 0) + 1);
  }

  function checkConcurrency({ attempt }: Sending, inFlight: Iterable<Sending>): void {
    const { seq, name } = attempt.subscription;
    const own = [...inFlight].filter((other) => other.attempt.subscription.seq === seq);
    const allowed = Math.max(...own.map((other) => other.attempt.subscription.concurrency));
    if (own.length > allowed + 1) violation(`${name} has ${own.length} in flight`);
  }

  /** Every send but a probe must find a token; what a restart forgets is given again. */
  function checkRate({ seq, name, rateLimitPerMinute }: Subscription, isProbe: boolean): void {
    if (rateLimitPerMinute === undefined) return void buckets.delete(seq);
    const perS = rateLimitPerMinute / 60;
    const full = Math.max(1, perS);
    const known = buckets.get(seq);
    const bucket = known?.perS === perS ? known : { tokens: full, at: time.elapsedMs };
    const filled = bucket.tokens + ((time.elapsedMs - bucket.at) * perS * FASTEST_CLOCK) / 1000;
    const tokens = Math.min(full, filled) - 1;
    buckets.set(seq, { tokens, at: time.elapsedMs, perS });
    if (tokens < -0.01 && !isProbe) violation(`${name} is sent more than ${rateLimitPerMinute} per minute`);
  }

  return {
    arrivals,
    violations,
    tail,
    get attempts() {
      return attempts;
    },
    get interruptedAccepted() {
      return interruptedAccepted;
    },
    violation,
    trace,
    dispatched(subscription, delivery, mode) {
      checkRate(subscription, mode?.isOpen === true);
      if (mode?.isOpen !== true) return;
      if (probes.has(subscription.seq)) violation(`${subscription.name} is probed by two deliveries at once`);
      probes.set(subscription.seq, delivery);
    },
    sent(sending, facts) {
      const { attempt, hash, accepted } = sending;
      const { subscription, event, deliveryId } = attempt;
      const eventSeq = parseDeliveryId(deliveryId)?.eventSeq ?? 0;
      const next = ofLane(subscription.seq).get(eventSeq);
      trace(
        `send ${deliveryId}#${attempt.number} to ${subscription.name}: ${accepted ? "will be taken" : "will fail"}`,
      );
      if (next !== undefined && facts.now < next.at) {
        // Once, and after its destination took something.
        const taken = takenAt.get(subscription.seq) ?? Number.NEGATIVE_INFINITY;
        const isEarly = !next.wasEarly && taken >= next.failedAt - ACTED_ON_MS;
        if (isEarly) early.add(deliveryId);
        else violation(`${deliveryId}#${attempt.number} was sent ${next.at - facts.now} ms before its time`);
      }
      attempts++;
      lastSend.set(subscription.seq, time.elapsedMs);
      checkConcurrency(sending, facts.inFlight);
      arrivals.push({ eventId: event.id, subscription: subscription.id, attempt: attempt.number, hash, accepted });
    },
    attempted(subscription, delivery, report, settlement) {
      const key = `${delivery.eventSeq} ${delivery.subscriptionSeq} ${delivery.generation}`;
      if (probes.get(subscription.seq) === delivery) probes.delete(subscription.seq);
      const made = (tries.get(key) ?? 0) + 1;
      tries.set(key, made);
      trace(
        `  ${delivery.eventSeq}/${subscription.seq}#${settlement.attemptNumber} ${report.outcome.kind} → ${settlement.verdict}`,
      );
      const deliveryId = formatDeliveryId(delivery.eventSeq, subscription.seq);
      if (settlement.isUncounted) {
        if (!isStopping) violation(`${key} was tried without being counted`);
        noteInterrupted(deliveryId);
      }
      const interrupted = interruptions.get(deliveryId) ?? 0;
      if (made > allowedTries(subscription) + interrupted) violation(`${key} was tried ${made} times`);
      if (settlement.verdict === "dead" && settlement.deadReason === undefined)
        violation(`${key} died without a reason`);
      const isHastened = time.elapsedMs - (closedAt.get(subscription.seq) ?? Number.NEGATIVE_INFINITY) < HASTENING_MS;
      const wasEarly = early.delete(deliveryId);
      if (settlement.verdict !== "retry") takenAt.set(subscription.seq, time.elapsedMs);
      if (settlement.nextAttemptAt !== undefined && !isHastened) {
        const next = { at: settlement.nextAttemptAt, failedAt: time.elapsedMs, wasEarly };
        ofLane(subscription.seq).set(delivery.eventSeq, next);
      }
    },
    modeChanged(subscription, change) {
      trace(`mode of ${subscription.name} ${change}`);
      // Its waiting retries are due now, and so is what fails before that is recorded.
      if (change !== "closed") return;
      notBefore.delete(subscription.seq);
      closedAt.set(subscription.seq, time.elapsedMs);
    },
    touched(key) {
      notBefore.get(key.subscriptionSeq)?.delete(key.eventSeq);
    },
    stopBegan() {
      trace("stop");
      isStopping = true;
    },
    interrupted(inFlight, now) {
      isStopping = false;
      buckets.clear();
      probes.clear();
      for (const { attempt, accepted } of inFlight) {
        noteInterrupted(attempt.deliveryId);
        notBefore.get(attempt.subscription.seq)?.delete(parseDeliveryId(attempt.deliveryId)?.eventSeq ?? 0);
        if (accepted) interruptedAccepted++;
      }
      // What was due may have been claimed, and is due again after the restart, by a clock that may have been set back.
      for (const lane of notBefore.values()) for (const [seq, { at }] of lane) if (at <= now) lane.delete(seq);
    },
    interruptionsOf: (deliveryId) => interruptions.get(deliveryId) ?? 0,
    triesOf: (key, generation) => tries.get(`${key.eventSeq} ${key.subscriptionSeq} ${generation}`) ?? 0,
    lastSendAt: (seq) => lastSend.get(seq) ?? Number.NEGATIVE_INFINITY,
  };
}

export function allowedTries(subscription: Subscription): number {
  return resolveRetryPolicy(subscription.retryPolicy).delaysMs.length + 1;
}
