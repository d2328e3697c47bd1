import type { Clock, Random } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { createSecret, decodeSecret } from "../domain/signature.ts";
import {
  confirmRotation,
  endOverlap,
  findOverlapEnd,
  retireReplaced,
  startRotation,
  type SigningKeys,
} from "../domain/signing-keys.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { OwnEvents } from "./own-events.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** New secrets for subscriptions, without a moment in which a receiver cannot verify. */
export interface SecretRotation {
  /** Resolves to the new secret. */
  rotate(subscription: Subscription, wish?: RotationWish): Promise<string>;
  confirm(subscription: Subscription, options: { retire: boolean }): Promise<void>;
  retire(subscription: Subscription): Promise<void>;
  /** Retires what is due; says how many, and when the next is due. */
  endOverlaps(): Promise<{ ended: number; nextEndAt: number | undefined }>;
  /** Begins a rotation wherever a secret is too old; says how many. */
  rotateOld(shouldStop: () => boolean): Promise<number>;
}

export interface RotationWish {
  secret?: string | undefined;
  /** Default: 14 days. */
  overlapMs?: number | undefined;
  force?: boolean | undefined;
}

export interface SecretRotationOptions {
  subscriptions: Pick<Subscriptions, "find" | "list" | "keysOf" | "saveKeys">;
  ownEvents: OwnEvents;
  clock: Clock;
  random: Random;
  /** 0 switches rotation by age off. */
  rotateAfterMs: number;
  /** An overlap was begun. */
  onOverlap: (endsAt: number) => Promise<void>;
  onRotation: (subscription: Subscription, trigger: RotationTrigger) => void;
}

export type RotationTrigger = "manual" | "automatic";

const DEFAULT_OVERLAP_MS = 14 * 86_400_000;

export function createSecretRotation(options: SecretRotationOptions): SecretRotation {
  const { subscriptions, ownEvents, clock, random } = options;
  const turns = new Map<number, Promise<unknown>>();

  /** One change at a time for each subscription: each builds on what the one before it wrote. */
  function inTurn<Result>({ seq, id }: Subscription, run: (current: Subscription) => Promise<Result>): Promise<Result> {
    const turn = (turns.get(seq) ?? Promise.resolve()).then(() => {
      const current = subscriptions.find(seq);
      if (current === undefined) throw new PosthornError("not_found", `There is no subscription ${id}.`);
      return run(current);
    });
    const ended = turn.catch(() => undefined).then(() => void (turns.get(seq) === ended && turns.delete(seq)));
    turns.set(seq, ended);
    return turn;
  }

  function rotate(subscription: Subscription, wish: RotationWish, trigger: RotationTrigger): Promise<string> {
    const { secret = createSecret(random), overlapMs = DEFAULT_OVERLAP_MS, force = false } = wish;
    decodeSecret(secret);
    return inTurn(subscription, async (current) => {
      const now = clock.now();
      const keys = startRotation(subscriptions.keysOf(current), { secret, overlapMs, force }, now);
      const endsAt = findOverlapEnd(keys);
      const told = ownEvents.publishOwn(describe(current, keys, now, trigger));
      const saved = subscriptions.saveKeys(current, keys);
      await Promise.all([saved, told]);
      if (endsAt !== undefined) await options.onOverlap(endsAt);
      options.onRotation(current, trigger);
      return secret;
    });
  }

  function isTooOld(subscription: Subscription): boolean {
    const keys = subscriptions.keysOf(subscription);
    const [secret] = keys.secrets;
    // What is paused is rotated when it is back: its owner could not see the overlap pass.
    if (secret === undefined || subscription.status !== "active" || findOverlapEnd(keys) !== undefined) return false;
    // A secret that stands in the configuration file is changed there.
    if (subscription.managedBy === "config" && keys.declared !== undefined) return false;
    return clock.now() - secret.createdAt >= options.rotateAfterMs;
  }

  return {
    rotate: (subscription, wish = {}) => rotate(subscription, wish, "manual"),
    async confirm(subscription, { retire }) {
      await inTurn(subscription, (current) => {
        const confirmed = confirmRotation(subscriptions.keysOf(current));
        return subscriptions.saveKeys(current, retire ? retireReplaced(confirmed) : confirmed);
      });
    },
    async retire(subscription) {
      await inTurn(subscription, (current) =>
        subscriptions.saveKeys(current, retireReplaced(subscriptions.keysOf(current))),
      );
    },
    async endOverlaps() {
      let ended = 0;
      let nextEndAt: number | undefined;
      for (const subscription of subscriptions.list(undefined)) {
        const endsAt = findOverlapEnd(subscriptions.keysOf(subscription));
        if (endsAt === undefined) continue;
        if (endsAt > clock.now()) {
          nextEndAt = Math.min(nextEndAt ?? endsAt, endsAt);
          continue;
        }
        await inTurn(subscription, async (current) => {
          const keys = subscriptions.keysOf(current);
          const left = endOverlap(keys, clock.now());
          if (left !== keys) await subscriptions.saveKeys(current, left);
        });
        ended++;
      }
      return { ended, nextEndAt };
    },
    async rotateOld(shouldStop) {
      if (options.rotateAfterMs === 0) return 0;
      let rotated = 0;
      for (const subscription of subscriptions.list(undefined).filter(isTooOld)) {
        if (shouldStop()) break;
        try {
          await rotate(subscription, {}, "automatic");
          rotated++;
        } catch (error) {
          if (!wasOvertaken(error)) throw error;
        }
      }
      return rotated;
    },
  };
}

/** By its owner, who deleted or rotated it while others had their turn. */
function wasOvertaken(error: unknown): boolean {
  return error instanceof PosthornError && (error.code === "not_found" || error.code === "conflict");
}

function describe(subscription: Subscription, keys: SigningKeys, now: number, trigger: RotationTrigger) {
  const { id, tenantId, name, signatureHeader } = subscription;
  return {
    type: "webhook.secret_rotating" as const,
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
