import { GATEWAY_TENANT } from "../model/event.ts";
import type { Clock, Random } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { createSecret, decodeSecret } from "../model/signature.ts";
import {
  confirmRotation,
  DEFAULT_OVERLAP_MS,
  endOverlap,
  findOverlapEnd,
  retireReplaced,
  startRotation,
  type SigningKeys,
} from "../model/signing-keys.ts";
import type { Subscription } from "../model/subscription.ts";
import type { NotifyRotation } from "../resources/subscriptions/subscription-drafts.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import { letsThrough } from "../accept/router.ts";
import { toIncomingEvent, type OwnEvents } from "../accept/ingest.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { PeriodicJob } from "./jobs.ts";

/** New secrets for subscriptions, so that receivers can verify at every moment. */
export type SecretRotation = ReturnType<typeof createSecretRotation>;

/** `automatic`: rotated at its age. `manual`: only by its owner. `overdue`: manual, and too old. */
export type RotationPlan = "automatic" | "manual" | "overdue";

export interface RotationRequest {
  secret?: string | undefined;
  /** Default: 14 days. */
  overlapMs?: number | undefined;
  force?: boolean | undefined;
}

export type RotationTrigger = "manual" | "automatic";

const ROTATING = "webhook.secret_rotating" as const;
const DAY_MS = 86_400_000;

export function createSecretRotation(options: {
  subscriptions: Pick<Subscriptions, "list" | "keysOf" | "changeKeys">;
  ownEvents: Pick<OwnEvents, "publishWith">;
  clock: Clock;
  random: Random;
  /** 0 switches rotation by age off. */
  rotateAfterMs: number;
  onOverlap: (endsAt: number) => Promise<void>;
  onRotation: (subscription: Subscription, trigger: RotationTrigger) => void;
  /** Secrets that are too old and whose owners would not be informed of new ones. */
  onOverdue: (subscriptions: readonly Subscription[]) => void;
}) {
  const { subscriptions, ownEvents, clock, random } = options;

  async function rotate(
    subscription: Subscription,
    request: RotationRequest,
    trigger: RotationTrigger,
  ): Promise<string> {
    const { secret = createSecret(random), overlapMs = DEFAULT_OVERLAP_MS, force = false } = request;
    decodeSecret(secret);
    await save(trigger, (notify) =>
      subscriptions.changeKeys(subscription, (known, current, draft) => {
        const keys = startRotation(known, { secret, overlapMs, force }, clock.now());
        notify(draft, current, keys);
        return keys;
      }),
    );
    return secret;
  }

  async function save<Result>(
    trigger: RotationTrigger,
    change: (notify: NotifyRotation) => Promise<Result>,
  ): Promise<Result> {
    const begun: { subscription: Subscription; endsAt: number | undefined }[] = [];
    const result = await change((draft, subscription, keys) => {
      begun[0] = { subscription, endsAt: findOverlapEnd(keys) };
      ownEvents.publishWith(draft, describe(subscription, keys, clock.now(), trigger));
    });
    for (const { subscription, endsAt } of begun) {
      if (endsAt !== undefined) await options.onOverlap(endsAt);
      options.onRotation(subscription, trigger);
    }
    return result;
  }

  /** A paused subscription is rotated when it is active again: until then its owner could not notice the overlap. */
  function isRotatable(subscription: Subscription, keys: SigningKeys): boolean {
    if (options.rotateAfterMs === 0 || subscription.status !== "active") return false;
    // Subscriptions that the gateway created for such messages have no owner to inform.
    const isForAlerts = subscription.tenantId === GATEWAY_TENANT && subscription.tenants === undefined;
    if (isForAlerts || subscription.managedBy === "contact") return false;
    // A secret in the configuration file must be changed there.
    return subscription.managedBy !== "config" || keys.declared === undefined;
  }

  function isTooOld(keys: SigningKeys): boolean {
    const [secret] = keys.secrets;
    if (secret === undefined || findOverlapEnd(keys) !== undefined) return false;
    return clock.now() - secret.createdAt >= options.rotateAfterMs;
  }

  /**
   * Who is informed of a rotation: active subscriptions of the tenant that ask for that event by name, those of its
   * contacts included. The pattern `webhook.*` does not count, because it may be meant for incoming webhooks.
   */
  function listListeners(tenantId: string): readonly Subscription[] {
    return subscriptions
      .list(tenantId)
      .filter(({ status, events }) => status === "active" && events.includes(ROTATING));
  }

  /** The subscriptions whose secret is too old, and whether their owner would be informed of a new one. */
  function* findDue() {
    // Looked up once, because a tenant may have very many subscriptions.
    const known = new Map<string, readonly Subscription[]>();
    for (const subscription of subscriptions.list(undefined)) {
      const keys = subscriptions.keysOf(subscription);
      if (!isRotatable(subscription, keys) || !isTooOld(keys)) continue;
      const { tenantId } = subscription;
      const listeners = known.get(tenantId) ?? listListeners(tenantId);
      known.set(tenantId, listeners);
      yield { subscription, isInformed: isInformed(subscription, keys, listeners) };
    }
  }

  function isInformed(subscription: Subscription, keys: SigningKeys, listeners: readonly Subscription[]): boolean {
    if (listeners.length === 0) return false;
    const event = toIncomingEvent(describe(subscription, keys, clock.now(), "automatic"), clock, "");
    return listeners.some((listener) => letsThrough(listener, event));
  }

  function plan(subscription: Subscription): RotationPlan {
    const keys = subscriptions.keysOf(subscription);
    if (!isRotatable(subscription, keys)) return "manual";
    if (isInformed(subscription, keys, listListeners(subscription.tenantId))) return "automatic";
    return isTooOld(keys) ? "overdue" : "manual";
  }

  return {
    rotate: (subscription: Subscription, request: RotationRequest = {}) => rotate(subscription, request, "manual"),
    /** Runs a change of settings that may contain a new secret, which begins a rotation. */
    save: <Result>(change: (notify: NotifyRotation) => Promise<Result>) => save("manual", change),
    async confirm(subscription: Subscription, { retire }: { retire: boolean }): Promise<void> {
      await subscriptions.changeKeys(subscription, (keys) => {
        const confirmed = confirmRotation(keys);
        return retire ? retireReplaced(confirmed) : confirmed;
      });
    },
    async retire(subscription: Subscription): Promise<void> {
      await subscriptions.changeKeys(subscription, retireReplaced);
    },
    /** Retires due secrets; returns how many, and when the next one is due. */
    async endOverlaps(): Promise<{ ended: number; nextEndAt: number | undefined }> {
      let ended = 0;
      let nextEndAt: number | undefined;
      for (const subscription of subscriptions.list(undefined)) {
        const endsAt = findOverlapEnd(subscriptions.keysOf(subscription));
        if (endsAt === undefined) continue;
        if (endsAt > clock.now()) {
          nextEndAt = Math.min(nextEndAt ?? endsAt, endsAt);
          continue;
        }
        await subscriptions.changeKeys(subscription, (keys) => endOverlap(keys, clock.now()));
        ended++;
      }
      return { ended, nextEndAt };
    },
    /** Rotates secrets that are too old when somebody is informed; warns of the others. Returns how many of each. */
    async rotateOld(shouldStop: () => boolean): Promise<{ rotated: number; overdue: number }> {
      const overdue: Subscription[] = [];
      let rotated = 0;
      for (const { subscription, isInformed } of findDue()) {
        if (shouldStop()) break;
        if (!isInformed) {
          overdue.push(subscription);
          continue;
        }
        try {
          await rotate(subscription, {}, "automatic");
          rotated++;
        } catch (error) {
          if (!wasOvertaken(error)) throw error;
        }
      }
      if (overdue.length > 0) options.onOverdue(overdue);
      return { rotated, overdue: overdue.length };
    },
    /** Subscriptions whose secret is too old and whose owners would not be informed of a new one. */
    listOverdue: (): readonly Subscription[] =>
      [...findDue()].flatMap(({ subscription, isInformed }) => (isInformed ? [] : [subscription])),
    plan,
  };
}

/** Its owner deleted or rotated it in the meantime. */
function wasOvertaken(error: unknown): boolean {
  return error instanceof PosthornError && (error.code === "not_found" || error.code === "conflict");
}

function describe(subscription: Subscription, keys: SigningKeys, now: number, trigger: RotationTrigger) {
  const { id, tenantId, name, signatureHeader } = subscription;
  return {
    type: ROTATING,
    tenantId,
    data: {
      webhook_id: id,
      name,
      trigger,
      rotated_at: new Date(now).toISOString(),
      overlap_ends_at: new Date(findOverlapEnd(keys) ?? now).toISOString(),
      signature_header: signatureHeader,
      action_required: "Fetch the new secret and verify with it before the overlap ends",
    },
  };
}

export const END_OVERLAPS = "end-overlaps";

export function createRotationJobs(rotation: SecretRotation): PeriodicJob[] {
  return [
    {
      name: "rotate-secrets",
      description: "Adds a new secret to subscriptions whose secret is too old, when somebody is informed of it",
      everyMs: DAY_MS,
      run: async ({ shouldStop }) => ({ summary: await rotation.rotateOld(shouldStop) }),
    },
    {
      name: END_OVERLAPS,
      description: "Retires the old secrets of rotations whose overlap is over",
      everyMs: DAY_MS,
      async run() {
        const { ended, nextEndAt } = await rotation.endOverlaps();
        return { summary: { ended }, nextRunAt: nextEndAt };
      },
    },
  ];
}

/** As fields of a log line. */
const MAX_NAMED = 20;

export function logRotations(
  logger: Logger,
): Pick<Parameters<typeof createSecretRotation>[0], "onRotation" | "onOverdue"> {
  return {
    onRotation: ({ id, name }, trigger) =>
      logger.info(
        { subscription_id: id, subscription: name, trigger },
        "secret rotated; the old one stays valid during the overlap",
      ),
    onOverdue: (overdue) =>
      logger.warn(
        { count: overdue.length, subscriptions: overdue.slice(0, MAX_NAMED).map(({ name }) => name) },
        "secrets are too old, and nobody would be informed of new ones: rotate them, give the tenant a contact, or subscribe to webhook.secret_rotating",
      ),
  };
}
