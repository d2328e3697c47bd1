import type { DestinationKind } from "../../destinations/sender.ts";
import type { Clock, Random } from "../../model/clock.ts";
import { applyKeyInput, type SigningKeys } from "../../model/signing-keys.ts";
import type { SharedSettings, SubscriptionInput, SubscriptionStatus } from "../../model/subscription.ts";
import type { Settings } from "../sealed-settings.ts";
import type { SecretBox } from "../secret-box.ts";
import { createSubscriptionAccess, type SubscriptionAccessOptions } from "./subscription-access.ts";
import { sealSigningKeys, sealSubscriptionSettings, type KeptSubscription } from "./subscription-record.ts";

export type SubscriptionChange = Partial<SubscriptionInput>;

interface Facts extends Pick<KeptSubscription, "id" | "tenantId" | "managedBy" | "createdBy" | "credentialsBy"> {
  /** A deleted subscription had this id: the new one gets its number, and with it its deliveries. */
  isReused?: boolean | undefined;
}

/** Builds a subscription in the form in which it is stored. */
export interface SubscriptionBuild {
  /** Returns the known one itself when the input changes nothing. */
  fromInput(input: SubscriptionInput, kind: DestinationKind, facts: Facts, known?: KeptSubscription): KeptSubscription;
  withStatus(known: KeptSubscription, status: SubscriptionStatus): KeptSubscription;
  /**
   * For one that is in effect: whatever is sent from now on has no credentials of the operator, if its settings have
   * none. Returns the known one itself when that was so before.
   */
  withoutOperator(known: KeptSubscription): KeptSubscription;
  withKeys(known: KeptSubscription, keys: SigningKeys): KeptSubscription;
  /** For one that left the configuration: its deliveries are held, because that may be a mistake. */
  toFormer(known: KeptSubscription): KeptSubscription;
}

interface SubscriptionBuildOptions extends SubscriptionAccessOptions {
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
}

/**
 * Between the check of a change and the moment when it is in effect, attempts still begin with the credentials of the
 * operator. How long that takes is known only afterwards, and then the time is set. Until then, and if the gateway ends
 * in between, this is longer than a write and the next reading of changes by another process take.
 */
const MAX_UNTIL_IN_EFFECT_MS = 60_000;

export function createSubscriptionBuild(options: SubscriptionBuildOptions): SubscriptionBuild {
  const { clock, random, secretBox } = options;
  const access = createSubscriptionAccess(options);

  /**
   * What the destination answered until then is not for the tenant, whatever credentials are sent now. Of a deleted
   * subscription nobody knows whose it sent.
   */
  function operatorsUntil(
    known: KeptSubscription | undefined,
    next: Pick<KeptSubscription, "id" | "settings" | "credentialsBy">,
    isReused: boolean,
  ): number | undefined {
    if (known === undefined) return isReused ? clock.wall() : undefined;
    const ends = access.ownerOf(known) === "operator" && access.ownerOf(next) !== "operator";
    return ends ? clock.wall() + MAX_UNTIL_IN_EFFECT_MS : known.operatorsUntil;
  }

  function heldSince(status: SubscriptionStatus, known: KeptSubscription | undefined): number | undefined {
    return status === "active" ? undefined : (known?.heldSince ?? clock.wall());
  }

  function withStatus(known: KeptSubscription, status: SubscriptionStatus): KeptSubscription {
    return { ...known, status, heldSince: heldSince(status, known) };
  }

  return {
    fromInput(input, kind, { id, tenantId, managedBy, createdBy, credentialsBy, isReused = false }, known) {
      const { secret: _, status = known?.status ?? "active", ...settings } = input;
      const isDeclared = managedBy === "config";
      const keys = applyKeyInput(known?.keys, input, { random, now: clock.now(), isDeclared });
      const hasSameSettings = known !== undefined && isSameSettings(known.settings, settings);
      if (hasSameSettings && keys === known.keys && status === known.status && managedBy === known.managedBy) {
        return known;
      }
      const owner = { id, tenantId };
      return {
        ...owner,
        name: input.name,
        status,
        settings,
        keys,
        managedBy,
        createdBy,
        credentialsBy,
        operatorsUntil: operatorsUntil(known, { id, settings, credentialsBy }, isReused),
        heldSince: heldSince(status, known),
        sealed: {
          settings: hasSameSettings
            ? known.sealed.settings
            : sealSubscriptionSettings(settings, kind, secretBox, owner),
          keys: keys === known?.keys ? known.sealed.keys : sealSigningKeys(keys, secretBox, owner),
        },
      };
    },
    withStatus,
    withoutOperator(known) {
      const now = clock.wall();
      return (known.operatorsUntil ?? -Infinity) > now ? { ...known, operatorsUntil: now } : known;
    },
    withKeys: (known, keys) => ({
      ...known,
      keys,
      sealed: { ...known.sealed, keys: sealSigningKeys(keys, secretBox, known) },
    }),
    toFormer: (known) => ({ ...withStatus(known, "inactive"), managedBy: "former_config" }),
  };
}

/** Only one of the two retry settings at a time: changing one removes the other. */
export function mergeChange(current: Settings, change: SubscriptionChange): SubscriptionInput {
  const merged: SharedSettings = { ...current, ...change };
  if (change.destination !== undefined) merged.destination = { ...current.destination, ...change.destination };
  if (change.retry_policy !== undefined && change.retry_count === undefined && change.retry_interval === undefined) {
    delete merged.retry_count;
    delete merged.retry_interval;
  }
  if (change.retry_policy === undefined && (change.retry_count ?? change.retry_interval) !== undefined) {
    delete merged.retry_policy;
  }
  return merged;
}

/** In any order: decrypted settings are appended to the others. */
function isSameSettings(one: Settings, other: Settings): boolean {
  const textOf = (settings: Settings) =>
    JSON.stringify(
      Object.entries(settings)
        .filter(([, value]) => value !== undefined)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  return textOf(one) === textOf(other);
}
