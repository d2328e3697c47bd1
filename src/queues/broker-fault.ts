import { PosthornError } from "../model/errors.ts";
import type { Settled } from "./broker.ts";

export type FaultKind =
  | "unreachable"
  | "wrong_credentials"
  /** The credentials are valid, but do not allow this. */
  | "not_allowed"
  | "missing_package"
  | "not_found"
  | "different"
  | "too_large"
  /** The message cannot be written as the broker's protocol wants it, however often it is tried. */
  | "invalid"
  /** The message was held for too long: another receiver may have it. */
  | "lost"
  | "closed"
  | "refused";

/**
 * A problem with a broker, in one line that says what to do. It has no cause: errors of the packages contain whole
 * requests, with their credentials.
 */
export class BrokerFault extends PosthornError {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string) {
    super("broker_failed", message, { details: { fault: kind } });
    this.kind = kind;
  }

  /** True when the whole connection is affected, and not one queue or message. */
  get isOfConnection(): boolean {
    return this.kind === "unreachable" || this.kind === "wrong_credentials" || this.kind === "missing_package";
  }
}

/** Advice for what is missing at a broker. */
export const DECLARE = "Create it with `posthorn queue declare`.";

/** Makes the faults of one broker: their messages begin with its name. */
export function createFaults(broker: string) {
  return (kind: FaultKind, message: string) => new BrokerFault(kind, `${broker} ${message}`);
}

/** What became of a message that `act` settles. */
export async function settledBy(act: () => Promise<unknown>): Promise<Settled> {
  try {
    await act();
    return "settled";
  } catch (error) {
    if (error instanceof BrokerFault && error.kind === "lost") return "lost";
    throw error;
  }
}

export function closedFault(): BrokerFault {
  return new BrokerFault("closed", "The connection to the broker is closed.");
}

const NETWORK_CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "it cut the connection",
  EPIPE: "it cut the connection",
  ENOTFOUND: "no host has that name",
  EAI_AGAIN: "its name cannot be resolved now",
  ETIMEDOUT: "it does not answer",
  EHOSTUNREACH: "no route to that host",
  ENETUNREACH: "no route to that network",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified",
};

/** Describes a network error in words. Errors are often wrapped in others. */
export function findNetworkTrouble(error: unknown): string | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    const { code, errors } = one as Error & { code?: unknown; errors?: unknown[] };
    // Some packages put their own code there, and the network's code into the text.
    const known = [code, /\b(E[A-Z]{4,}):/.exec(one.message)?.[1]].find((text) =>
      Object.hasOwn(NETWORK_CODES, String(text)),
    );
    if (known !== undefined) return NETWORK_CODES[String(known)];
    if (Array.isArray(errors)) {
      const inner = errors.map(findNetworkTrouble).find((text) => text !== undefined);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

/** One line, however many lines a package wrote. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0]?.slice(0, 300) ?? "";
}
