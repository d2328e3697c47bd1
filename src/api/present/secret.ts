import { publicKeyOf } from "../../model/signature.ts";
import { findOverlapEnd, type SigningKeys } from "../../model/signing-keys.ts";
import type { Subscription } from "../../model/subscription.ts";
import type { RotationPlan } from "../../jobs/secret-rotation.ts";
import { isoTime } from "./time.ts";

/** The state of a rotation, without secrets: answers that may show one add it. */
export function presentRotation(subscription: Subscription, keys: SigningKeys) {
  return {
    id: subscription.id,
    overlap_ends_at: isoTime(findOverlapEnd(keys)) ?? null,
    secrets: presentStates(keys),
  };
}

/** For the owner only: with the secrets themselves, but without private keys, which nobody else needs. */
export function presentSecrets(subscription: Subscription, keys: SigningKeys, plan: RotationPlan) {
  const { secrets, ed25519 } = keys;
  const states = presentStates(keys);
  return {
    id: subscription.id,
    secret: secrets[0]?.secret,
    overlap_ends_at: isoTime(findOverlapEnd(keys)) ?? null,
    rotation: plan,
    secrets: secrets.map(({ secret }, index) => ({ secret, ...states[index] })),
    ed25519:
      ed25519 === undefined
        ? null
        : { public_key: publicKeyOf(ed25519.privateKey), created_at: isoTime(ed25519.createdAt) },
  };
}

function presentStates({ secrets }: SigningKeys) {
  return secrets.map(({ state, createdAt, expiresAt }) => ({
    state,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt) ?? null,
  }));
}
