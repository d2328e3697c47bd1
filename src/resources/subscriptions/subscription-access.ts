import { isDeepStrictEqual } from "node:util";
import { settingsIn, templatesIn, type DestinationKinds } from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/destination-kind.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { fillIn } from "../../model/shape.ts";
import { SharedSettings, type SubscriptionInput } from "../../model/subscription.ts";
import type { CredentialsBy, KeptSubscription } from "./subscription-record.ts";
import { findHealth, findPreset } from "../../model/target-rules.ts";

/**
 * What callers that are bound to a tenant may do with a subscription, by its stored and its new settings. `boundTo` is
 * that tenant; operators have none and may do everything.
 */
export type SubscriptionAccess = ReturnType<typeof createSubscriptionAccess>;

/**
 * `change`: to change it. `use`: to see what it sends and what its destination answers, and the secret that signs it; a
 * caller could otherwise send requests of its own choice with credentials of the operator, or in the gateway's name.
 */
export type SubscriptionAction = "change" | "use";
export type SubscriptionRights = Readonly<Record<SubscriptionAction, boolean>>;

export interface SubscriptionAccessOptions {
  kinds: DestinationKinds;
  /** Whether the configuration reserves a kind for the operator. */
  isForOperators?: ((kind: DestinationKind) => boolean) | undefined;
}

type Known = Pick<KeptSubscription, "id" | "settings" | "credentialsBy">;

export function createSubscriptionAccess({ kinds, isForOperators }: SubscriptionAccessOptions) {
  function isReserved(settings: SubscriptionInput, kind: DestinationKind): boolean {
    if (kind.operatorOnly === true || isForOperators?.(kind) === true) return true;
    const set = new Map<string, unknown>(Object.entries(settingsIn(settings, kind)));
    const names = typeof kind.operatorOnly === "object" ? kind.operatorOnly : [];
    return names.some((name) => (set.get(name) ?? null) !== null);
  }

  function ownerOf({ settings, credentialsBy }: Known): CredentialsBy | undefined {
    const kind = kinds.findOf(settings);
    const has = kind?.secrets.findCarried({}, settingsIn(settings, kind), false) !== undefined;
    return has ? credentialsBy : undefined;
  }

  function findRejection(settings: SubscriptionInput, boundTo: string | undefined): PosthornError | undefined {
    if (boundTo === undefined) return undefined;
    if ((settings.tenants ?? null) !== null) {
      return new PosthornError(
        "forbidden",
        "tenants: only keys that are not bound to a tenant may subscribe for several; this key is bound to " +
          `${boundTo}. Leave it out.`,
        { field: "tenants" },
      );
    }
    const kind = kinds.findOf(settings);
    if (kind === undefined || !isReserved(settings, kind)) return undefined;
    return new PosthornError(
      "forbidden",
      `Such destinations of the kind ${kind.name} need a key that is not bound to a tenant; this key is bound to ` +
        `${boundTo}.`,
    );
  }

  function findActionRejection(
    act: SubscriptionAction,
    known: Known,
    boundTo: string | undefined,
  ): PosthornError | undefined {
    const rejection = findRejection(known.settings, boundTo);
    if (rejection !== undefined || act === "change") return rejection;
    if (boundTo === undefined || ownerOf(known) !== "operator") return undefined;
    return new PosthornError(
      "forbidden",
      `The subscription ${known.id} sends credentials that the operator of the gateway has set. Only the operator ` +
        "may test it, preview it, choose events for it or see its secret, unless you give it credentials of your own.",
    );
  }

  return {
    /** Throws `forbidden` for settings that only operators may choose: some destinations, and several tenants. */
    reject(settings: SubscriptionInput, boundTo: string | undefined): void {
      const rejection = findRejection(settings, boundTo);
      if (rejection !== undefined) throw rejection;
    },
    /** Throws `forbidden` for what `rightsOf` denies. */
    rejectAction(act: SubscriptionAction, known: Known, boundTo: string | undefined): void {
      const rejection = findActionRejection(act, known, boundTo);
      if (rejection !== undefined) throw rejection;
    },
    rightsOf: (known: Known, boundTo: string | undefined) => ({
      change: findActionRejection("change", known, boundTo) === undefined,
      use: findActionRejection("use", known, boundTo) === undefined,
    }),
    /**
     * Returns who gave the credentials after an update. Throws `forbidden` when stored ones of the operator would be used
     * for something else. `carried`: a stored secret that stays without being given again.
     */
    checkCredentials(
      known: Known,
      input: SubscriptionInput,
      { boundTo, carried }: { boundTo: string | undefined; carried: string | undefined },
    ): CredentialsBy {
      const kind = kinds.findOf(input) as DestinationKind;
      const [before, after] = [known.settings, input].map((settings) => describeUse(settings, kind));
      if (boundTo === undefined) {
        return isDeepStrictEqual(before?.hidden, after?.hidden) ? known.credentialsBy : "operator";
      }
      if (carried === undefined) return "tenant";
      const isSameUse = input.secret === undefined && isDeepStrictEqual(before, after);
      if (ownerOf(known) !== "operator" || isSameUse) return known.credentialsBy;
      throw new PosthornError(
        "forbidden",
        `${carried}: the operator of the gateway has set it, for requests as they are. To change where they go, what ` +
          `they contain, how they are signed or which events they are for, give ${carried} again, with its values, or ` +
          "set it to null.",
        { field: carried },
      );
    },
    /** Who gives the credentials of a new subscription. */
    nameOf: (boundTo: string | undefined): CredentialsBy => (boundTo === undefined ? "operator" : "tenant"),
    /** Who gave its credentials; undefined when it has none. */
    ownerOf,
  };
}

/**
 * Everything that decides where requests go and what they contain. Which events are chosen is part of it: sources stand in
 * URLs, and a forward passes on path, query, method and body of its webhook. Equal choices are described equally.
 */
function describeUse(input: SubscriptionInput, kind: DestinationKind) {
  const settings = settingsIn(input, kind);
  const { mode, target, fallback, events, sources, event_filter: filter } = fillIn(SharedSettings.properties, input);
  return {
    mode,
    target,
    fallback,
    events: new Set(events),
    sources: sources && new Set(sources),
    filter: typeof filter === "string" ? (JSON.parse(filter) as unknown) : filter,
    // Templates can write it.
    name: templatesIn(input, kind).length > 0 ? input.name : undefined,
    shown: kind.present(settings),
    hidden: kind.secrets.hide(settings)?.hidden,
  };
}

/** Callers that are bound to a tenant must not let the gateway flood somebody with health checks. */
const MIN_BOUND_S = 5;

interface Checked {
  health_interval_s?: number | null | undefined;
}

/**
 * `boundTo` is the tenant of the caller; operators have none. What is stored already may stay: an operator may have set
 * it, for this health check alone.
 */
export function rejectFrequentChecks(given: Checked, stored: Checked, boundTo: string | undefined): void {
  const { health_interval_s: seconds } = given;
  if (boundTo === undefined || typeof seconds !== "number" || seconds >= MIN_BOUND_S) return;
  const health = healthOf(given);
  if (seconds === stored.health_interval_s && (health === undefined || health === healthOf(stored))) return;
  throw invalidField(
    "health_interval_s",
    `health_interval_s: ${seconds} is too often. With a key or link of a tenant it is at least ${MIN_BOUND_S}.`,
  );
}

/** Of a subscription or of a shared target. */
function healthOf(settings: Checked): string | undefined {
  const { health_url: given, url, target, preset } = settings as Readonly<Record<string, unknown>>;
  const known = [target, preset].map((name) => findPreset(textOf(name))).find((one) => one !== undefined);
  return findHealth(textOf(given), known, textOf(url))?.url;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
