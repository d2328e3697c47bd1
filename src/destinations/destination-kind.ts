import type { TObject, TSchema } from "typebox";
import type { KindRecord } from "../model/outcome.ts";
import type { NeededParts, RetryPolicySpec, SharedSettings } from "../model/subscription.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";
import type { HealthPlace, TargetInput } from "../model/target.ts";
import type { Template } from "../sandbox/templates/templates.ts";

/**
 * The settings of a kind of destination: how they are checked, hidden, shown and prepared for its sender, which is
 * apart (`sender.ts`): a configuration is read without it. `kinds.ts` lists the kinds.
 */
export interface DestinationKind<Settings extends object = object> {
  /** The value of `kind`. */
  readonly name: string;
  /** The schema of its settings. */
  readonly settings: TObject;
  /**
   * The settings are beside those that all kinds share, not in `destination`. Only for http, whose settings were there
   * before kinds existed.
   */
  readonly isFlat?: boolean;
  /** The sender of a webhook can wait for such a delivery (`mode: forward`). */
  readonly canForward?: boolean;
  /**
   * The kind, or a destination with one of these settings, reaches systems of the gateway's operator: only keys that are
   * bound to no tenant may configure it.
   */
  readonly operatorOnly?: true | readonly string[];
  /** Delivered messages wait there to be taken: the kind can be the fallback of a forward. */
  readonly queue?: {
    /** Whether the messages that wait there can be counted, by the settings or what was prepared from them. */
    isCountable(destination: object): boolean;
    /** The size of the largest message, by its settings; undefined when events of any size go there. */
    maxBytesOf(settings: object): number | undefined;
  };
  /** Settings that name the health check. They belong to the target when several subscriptions share one. */
  readonly healthSettings?: readonly string[];
  /** Rules that a schema cannot express. Fields are named as in the settings. */
  check(settings: Settings, shared: SharedSettings): FieldProblem[];
  /** The templates in the settings; checked before they are saved. Named as in `check`. */
  templatesOf?(settings: Settings): readonly Template[];
  /** Prepares valid settings for the sender; called once for each version of a subscription. */
  prepare(settings: Settings, facts: DestinationFacts): PreparedDestination;
  readonly secrets: SettingsSecrets<Settings>;
  /** The settings as they are shown: complete, with defaults, and without secrets. */
  present(settings: Settings): Record<string, unknown>;
  /** For the API reference: parts of the settings that have a name of their own. */
  readonly named?: Readonly<Record<string, TSchema>>;
  /** Presents a stored record to users, as the members that it adds to an attempt. */
  presentRecord(record: KindRecord, of: RecordedAttempt): Record<string, unknown>;
}

/** What a kind gets to know about a subscription besides its settings. */
export interface DestinationFacts {
  readonly shared: SharedSettings;
  /** The target that the subscription shares with others. */
  readonly target: TargetInput | undefined;
}

export interface PreparedDestination {
  /** Read only by the sender of the kind. */
  readonly destination: unknown;
  /** Where deliveries go, in one line for the log: a URL for most kinds. At most its host is shown to outsiders. */
  readonly place: string;
  /** The exchange or queue that deliveries go to, as `model/connection.ts` writes it. */
  readonly queuePlace?: string | undefined;
  /** The health check of the subscription's own target; without one, a delivery is the probe. */
  readonly health?: HealthPlace | undefined;
  /** Used when the subscription names none. */
  readonly retryPolicy?: RetryPolicySpec | undefined;
  /** The header that carries the signature, if there is one. */
  readonly signatureHeader?: string | undefined;
  /** The parts of an event that the sender needs besides its content; a forwarding sender always gets the request. */
  readonly needs?: NeededParts | undefined;
  /** The names of headers with credentials that are passed on from a webhook's request. */
  readonly credentials?: readonly string[] | undefined;
  /** The names of all headers that a forward passes on; the usual ones when not given. */
  readonly forwardHeaders?: readonly string[] | undefined;
}

/** The secrets in the settings: encrypted in the store, never shown, and meant for one place only. */
export interface SettingsSecrets<Settings extends object = object> {
  /** Separates the secrets from the rest; undefined when there are none. */
  hide(settings: Settings): { shown: Settings; hidden: unknown } | undefined;
  reveal(shown: Settings, hidden: unknown): Settings;
  /** Only the settings that were given, with each secret replaced by `maskValue`. */
  mask(settings: Settings, maskValue: (secret: string) => string): Settings;
  /** A masked value that a client sends back stands for the stored one. */
  restore(given: Partial<Settings>, stored: Settings): Partial<Settings>;
  /**
   * The name on the wire of a stored secret that stays without being given again. `isWhole`: settings that are not
   * given are removed, and their secrets with them.
   */
  findCarried(given: Partial<Settings>, stored: Settings, isWhole: boolean): string | undefined;
  /** Throws when a stored secret would be sent to another place only because the place changed. */
  refuseCarried(given: Partial<Settings>, stored: Settings, isWhole: boolean): void;
}

/** The attempt that a record belongs to. */
export interface RecordedAttempt {
  deliveryId: string;
  eventId: string;
  eventType: string;
  number: number;
  startedAt: number;
}
