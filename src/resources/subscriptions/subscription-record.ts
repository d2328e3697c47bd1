import { type DestinationKinds, settingsIn, withSettings } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/destination-kind.ts";
import { formatSigningKeys, parseSigningKeys, type SigningKeys, applyKeyInput } from "../../model/signing-keys.ts";
import type { ManagedBy, SubscriptionStatus, SharedSettings, SubscriptionInput } from "../../model/subscription.ts";
import type { Change, Resource } from "../resource.ts";
import type { SecretBox } from "../secret-box.ts";
import type { Clock, Random } from "../../model/clock.ts";
import type { SubscriptionAccess } from "./subscription-access.ts";

/** A subscription in the form in which it is stored. */
export interface KeptSubscription {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly status: SubscriptionStatus;
  /** The settings of its owner. */
  readonly settings: Settings;
  readonly keys: SigningKeys;
  readonly managedBy: ManagedBy;
  /** The id of the key that created it; `config` or `contact` for those of the configuration or of a contact. */
  readonly createdBy: string | undefined;
  /** Who gave the credentials in the settings. */
  readonly credentialsBy: CredentialsBy;
  /**
   * When it stopped sending credentials of the operator, in wall time; undefined if it never did. In the future while
   * the change is not in effect yet.
   */
  readonly operatorsUntil?: number | undefined;
  /** In wall time; undefined while it is active. */
  readonly heldSince: number | undefined;
  /** In their stored form. Every encryption gives other bytes, so unchanged settings keep their own. */
  readonly sealed: { readonly settings: StoredSettings; readonly keys: Uint8Array };
}

/** A key that is bound to no tenant or the configuration; or a key or portal link of the tenant. */
export type CredentialsBy = "operator" | "tenant";

export type Settings = Omit<SharedSettings, "secret" | "status"> & Readonly<Record<string, unknown>>;

type StoredSettings = Settings & {
  /** Base64 of the encrypted settings; absent when there are none. */
  sealed?: string;
};

/** The content of `data`; the keys are in `blob`. */
type Data = Omit<KeptSubscription, "id" | "tenantId" | "settings" | "keys" | "sealed"> & { settings: StoredSettings };

const STATUS_VERBS: Readonly<Record<SubscriptionStatus, string>> = {
  active: "resume",
  inactive: "pause",
  suspended: "suspend",
};

export type SubscriptionChange = Partial<SubscriptionInput>;

interface Facts extends Pick<KeptSubscription, "id" | "tenantId" | "managedBy" | "createdBy" | "credentialsBy"> {
  /** A deleted subscription had this id: the new one gets its number, and with it its deliveries. */
  isReused?: boolean | undefined;
}

/**
 * Between the check of a change and the moment when it is in effect, attempts still begin with the credentials of the
 * operator. How long that takes is known only afterwards, and then the time is set. Until then, and if the gateway ends
 * in between, this is longer than a write and the next reading of changes by another process take.
 */
const MAX_UNTIL_IN_EFFECT_MS = 60_000;

export type SubscriptionRecords = ReturnType<typeof createSubscriptionRecords>;

/** How subscriptions are stored and read, and how a stored one is made of what a user gives. */
export function createSubscriptionRecords(options: {
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
  kinds: DestinationKinds;
  access: SubscriptionAccess;
  onChange: (changes: readonly Change<KeptSubscription>[]) => Promise<void>;
}) {
  const { clock, random, secretBox, kinds, access } = options;

  /** The kind of the destination knows which settings are credentials: they are encrypted, the rest stays readable. */
  function sealSettings(settings: Settings, kind: DestinationKind, owner: string): StoredSettings {
    const parted = kind.secrets.hide(settingsIn(settings, kind));
    if (parted === undefined) return settings;
    const sealed = secretBox.seal(JSON.stringify(parted.hidden), settingsOf(owner));
    return { ...withSettings(settings, kind, parted.shown), sealed: Buffer.from(sealed).toString("base64") };
  }

  /** When the kind is unknown, the encrypted settings stay encrypted. */
  function openSettings({ sealed, ...settings }: StoredSettings, owner: string): Settings {
    const kind = kinds.findOf(settings);
    if (sealed === undefined || kind === undefined) return settings;
    const hidden: unknown = JSON.parse(secretBox.open(Buffer.from(sealed, "base64"), settingsOf(owner)));
    return withSettings(settings, kind, kind.secrets.reveal(settingsIn(settings, kind), hidden));
  }

  /** The settings that are encrypted; when the kind is unknown, they cannot be named. */
  function findHidden(settings: Settings): unknown {
    const kind = kinds.findOf(settings);
    return kind === undefined ? settings : kind.secrets.hide(settingsIn(settings, kind))?.hidden;
  }

  function sealKeys(keys: SigningKeys, owner: string): Uint8Array {
    return secretBox.seal(formatSigningKeys(keys), owner);
  }

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

  const resource: Resource<KeptSubscription> = {
    kind: "subscription",
    noun: "subscription",
    format: 1,
    remembersDeleted: true,
    read({ tenantId, id, data, blob: keys = new Uint8Array() }) {
      const { settings, ...facts } = JSON.parse(data) as Data;
      const owner = ownerOf({ tenantId, id });
      return {
        ...facts,
        id,
        tenantId,
        settings: openSettings(settings, owner),
        keys: parseSigningKeys(secretBox.open(keys, owner)),
        sealed: { settings, keys },
      };
    },
    write({ name, status, managedBy, createdBy, credentialsBy, operatorsUntil, heldSince, sealed }) {
      const by = { managedBy, createdBy, credentialsBy, operatorsUntil };
      const data: Data = { name, status, settings: sealed.settings, ...by, heldSince };
      return { data: JSON.stringify(data), blob: sealed.keys };
    },
    keyOf: ({ tenantId, id }) => ({ tenantId, id }),
    show({ name, status, managedBy, createdBy, sealed: { settings } }) {
      const { sealed: _, ...shown } = settings;
      return { ...shown, name, status, managed_by: managedBy, created_by: createdBy };
    },
    secretsOf: ({ keys, settings }) => [formatSigningKeys(keys), findHidden(settings)],
    verbOf: (before, after) => (before.status === after.status ? undefined : STATUS_VERBS[after.status]),
    onChange: options.onChange,
  };

  return {
    resource,
    /** Returns the known one itself when the input changes nothing. */
    fromInput(
      input: SubscriptionInput,
      kind: DestinationKind,
      { id, tenantId, managedBy, createdBy, credentialsBy, isReused = false }: Facts,
      known?: KeptSubscription,
    ): KeptSubscription {
      const { secret: _, status = known?.status ?? "active", ...settings } = input;
      const isDeclared = managedBy === "config";
      const keys = applyKeyInput(known?.keys, input, { random, now: clock.now(), isDeclared });
      const hasSameSettings = known !== undefined && isSameSettings(known.settings, settings);
      if (hasSameSettings && keys === known.keys && status === known.status && managedBy === known.managedBy) {
        return known;
      }
      const owner = ownerOf({ id, tenantId });
      return {
        id,
        tenantId,
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
          settings: hasSameSettings ? known.sealed.settings : sealSettings(settings, kind, owner),
          keys: keys === known?.keys ? known.sealed.keys : sealKeys(keys, owner),
        },
      };
    },
    withStatus,
    /**
     * For one that is in effect: whatever is sent from now on has no credentials of the operator, if its settings have
     * none. Returns the known one itself when that was so before.
     */
    withoutOperator(known: KeptSubscription): KeptSubscription {
      const now = clock.wall();
      return (known.operatorsUntil ?? -Infinity) > now ? { ...known, operatorsUntil: now } : known;
    },
    withKeys: (known: KeptSubscription, keys: SigningKeys): KeptSubscription => ({
      ...known,
      keys,
      sealed: { ...known.sealed, keys: sealKeys(keys, ownerOf(known)) },
    }),
    /** For one that left the configuration: its deliveries are held, because that may be a mistake. */
    toFormer: (known: KeptSubscription): KeptSubscription => ({
      ...withStatus(known, "inactive"),
      managedBy: "former_config",
    }),
  };
}

function ownerOf({ tenantId, id }: Pick<KeptSubscription, "tenantId" | "id">): string {
  return `subscription/${tenantId}/${id}`;
}

/** A different owner than that of the signing secrets, so that one cannot be put in the place of the other. */
function settingsOf(owner: string): string {
  return `${owner}/settings`;
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
