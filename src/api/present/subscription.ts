import { publicKeyOf } from "../../model/signature.ts";
import { fillIn } from "../../model/shape.ts";
import { SharedSettings, USUAL_RETRIES, type Subscription } from "../../model/subscription.ts";
import type { Handshake } from "../../destinations/sender.ts";
import type { Condition } from "../../resources/target-states.ts";
import type { Summary } from "../../jobs/statistics.ts";
import type { Settings, CredentialsBy } from "../../resources/subscriptions/subscription-record.ts";
import type { SubscriptionRights } from "../../resources/subscriptions/subscription-access.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Subscription as Described } from "../routes/subscriptions.docs.ts";
import { presentCounters, presentSummary } from "./statistics.ts";
import { isoTime } from "./time.ts";

export interface ShownParts {
  settings: Settings;
  /** The settings that the kind shows: as fields of the subscription, or in `destination`. */
  destination: Readonly<Record<string, unknown>>;
  credentialsBy: CredentialsBy | undefined;
  /** Of the caller. */
  can: SubscriptionRights;
  condition: Condition;
  counters: DeliveryCounters | undefined;
  recent: Summary | undefined;
  handshake: Handshake | undefined;
  /** A partner does not get to know keys of others. */
  isForPartner: boolean;
}

/** The one mapping of a subscription to the wire, without its secret: the answer to create adds it. */
export function presentSubscription(
  subscription: Subscription,
  { settings, destination, credentialsBy, can, condition, counters, recent, handshake, isForPartner }: ShownParts,
): AnswerOf<typeof Described> {
  const { suspension, ed25519Key: key } = subscription;
  const {
    destination: _,
    retry_policy: _policy,
    retry_count,
    retry_interval,
    ...set
  } = fillIn(SharedSettings.properties, settings);
  return {
    id: subscription.id,
    ...set,
    tenant_id: subscription.tenantId,
    ...destination,
    status: subscription.status,
    condition,
    ...(subscription.heldBecause !== undefined && { held_reason: subscription.heldBecause }),
    ...(handshake !== undefined && { handshake_result: presentHandshake(handshake) }),
    ed25519: key !== undefined,
    ed25519_public_key: key === undefined ? null : publicKeyOf(key),
    ...(retry_count === null && retry_interval === null
      ? { retry_policy: subscription.retryPolicy }
      : {
          retry_count: retry_count ?? USUAL_RETRIES.count,
          retry_interval: retry_interval ?? USUAL_RETRIES.intervalS,
        }),
    suspend_after_dead: suspension?.afterDead ?? null,
    suspend_after_s: suspension?.afterMs === undefined ? null : suspension.afterMs / 1000,
    credentials_by: credentialsBy ?? null,
    managed_by: subscription.managedBy,
    can,
    created_by: isForPartner ? null : (subscription.createdBy ?? null),
    created_at: isoTime(subscription.createdAt),
    updated_at: isoTime(subscription.updatedAt),
    stats: { ...presentCounters(counters), ...presentSummary(recent) },
  };
}

function presentHandshake(handshake: Handshake) {
  const { status } = handshake;
  return {
    status,
    answered_at: status === "pending" ? null : isoTime(handshake.answeredAt),
    error: status === "refused" ? handshake.error : null,
  };
}
