import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/sender.ts";
import { formatSigningKeys, parseSigningKeys, type SigningKeys } from "../../model/signing-keys.ts";
import type { ManagedBy, SubscriptionStatus } from "../../model/subscription.ts";
import type { Change, Resource, LiveRecord } from "../resource.ts";
import { findHidden, openSettings, sealSettings, type Settings, type StoredSettings } from "../sealed-settings.ts";
import type { SecretBox } from "../secret-box.ts";

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

type Owner = Pick<KeptSubscription, "tenantId" | "id">;

/** The content of `data`; the keys are in `blob`. */
interface Data extends Pick<KeptSubscription, "name" | "status" | "managedBy"> {
  settings: StoredSettings;
  createdBy?: string | undefined;
  credentialsBy: CredentialsBy;
  operatorsUntil?: number | undefined;
  heldSince?: number | undefined;
}

const STATUS_VERBS: Readonly<Record<SubscriptionStatus, string>> = {
  active: "resume",
  inactive: "pause",
  suspended: "suspend",
};

export function createSubscriptionResource(
  secretBox: SecretBox,
  kinds: DestinationKinds,
  onChange: (changes: readonly Change<KeptSubscription>[]) => Promise<void>,
): Resource<KeptSubscription> {
  return {
    kind: "subscription",
    noun: "subscription",
    format: 1,
    remembersDeleted: true,
    read: (record) => fromRecord(record, secretBox, kinds),
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
    secretsOf: ({ keys, settings }) => [formatSigningKeys(keys), findHidden(settings, kinds.findOf(settings))],
    verbOf: (before, after) => (before.status === after.status ? undefined : STATUS_VERBS[after.status]),
    onChange,
  };
}

export function sealSubscriptionSettings(
  settings: Settings,
  kind: DestinationKind,
  box: SecretBox,
  owner: Owner,
): StoredSettings {
  return sealSettings(settings, kind, box, ownerOf(owner));
}

export function sealSigningKeys(keys: SigningKeys, box: SecretBox, owner: Owner): Uint8Array {
  return box.seal(formatSigningKeys(keys), ownerOf(owner));
}

function fromRecord(
  { tenantId, id, data, blob }: LiveRecord,
  box: SecretBox,
  kinds: DestinationKinds,
): KeptSubscription {
  const { name, status, managedBy, settings, createdBy, credentialsBy, operatorsUntil, heldSince } = JSON.parse(
    data,
  ) as Data;
  const owner = ownerOf({ tenantId, id });
  const keys = blob ?? new Uint8Array();
  return {
    id,
    tenantId,
    name,
    status,
    settings: openSettings(settings, kinds.findOf(settings), box, owner),
    keys: parseSigningKeys(box.open(keys, owner)),
    managedBy,
    createdBy,
    credentialsBy,
    operatorsUntil,
    heldSince,
    sealed: { settings, keys },
  };
}

function ownerOf({ tenantId, id }: Owner): string {
  return `subscription/${tenantId}/${id}`;
}
