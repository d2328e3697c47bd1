import { createHash } from "node:crypto";
import type { Random } from "./clock.ts";
import { createEd25519Key, createSecret } from "./signature.ts";
import { PosthornError } from "./errors.ts";
import { toCodeNames, toWireNames } from "./names.ts";
import { secretInUse } from "./secrets.ts";

/**
 * The keys that a subscription signs with, and how they change. A rotation adds a new secret beside the old one. The
 * plain header, which holds one signature, uses the old secret until the overlap ends or the owner confirms. All times
 * are scheduling times.
 */
export interface SigningKeys {
  /** All live secrets; the first is current and signs the plain header. */
  readonly secrets: readonly LiveSecret[];
  readonly ed25519: Ed25519Key | undefined;
  /** Digest of the secret in the configuration file: only a changed secret there undoes a rotation. */
  readonly declared: string | undefined;
}

export interface LiveSecret {
  readonly secret: string;
  /** `next`: the new secret of a rotation that is not confirmed. `previous`: replaced, and not yet retired. */
  readonly state: "current" | "next" | "previous";
  readonly createdAt: number;
  /** When the secret is retired; undefined when nothing replaces it. */
  readonly expiresAt: number | undefined;
}

export interface Ed25519Key {
  readonly privateKey: string;
  readonly createdAt: number;
}

export interface KeyInput {
  secret?: string | undefined;
  ed25519?: boolean | undefined;
}

export interface KeyMaker {
  random: Random;
  now: number;
  /** The input comes from the configuration file, which repeats it at every start. */
  isDeclared: boolean;
}

export const DEFAULT_OVERLAP_MS = 14 * 86_400_000;

/**
 * Applies an input to the keys; returns the same object when it changes nothing. A new secret begins a rotation, so that
 * receivers have time to follow; one in the configuration file replaces the old one at once.
 */
export function applyKeyInput(known: SigningKeys | undefined, input: KeyInput, maker: KeyMaker): SigningKeys {
  const { random, now, isDeclared } = maker;
  const { secret, ed25519 = false } = input;
  const digest = isDeclared && secret !== undefined ? digestOf(secret) : undefined;
  let keys = known ?? createSigningKeys(secret ?? createSecret(random), now);
  if (isDeclared && secret !== undefined && keys.declared !== digest) keys = replaceSecret(keys, secret, now);
  if (!isDeclared && secret !== undefined && !keys.secrets.some((live) => live.secret === secret)) {
    keys = startRotation(keys, { secret, overlapMs: DEFAULT_OVERLAP_MS, force: false }, now);
  }
  if (keys.declared !== digest) keys = { ...keys, declared: digest };
  if (ed25519 === (keys.ed25519 !== undefined)) return keys;
  return { ...keys, ed25519: ed25519 ? { privateKey: createEd25519Key(random), createdAt: now } : undefined };
}

function createSigningKeys(secret: string, now: number): SigningKeys {
  return { secrets: [current(secret, now)], ed25519: undefined, declared: undefined };
}

/** Replaces the secret at once; no other secret stays live. */
function replaceSecret(keys: SigningKeys, secret: string, now: number): SigningKeys {
  const [only, ...others] = keys.secrets;
  if (only?.secret === secret && others.length === 0) return keys;
  return { ...keys, secrets: [current(secret, now)] };
}

function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}

/** The keys in the form that a signer needs. */
export function toEngineKeys({ secrets, ed25519 }: SigningKeys) {
  return {
    secrets: secrets.map(({ secret }) => secret),
    nextSecret: secrets.find(({ state }) => state === "next")?.secret,
    ed25519Key: ed25519?.privateKey,
  };
}

/** When the old secret of a rotation ends; undefined when no rotation is running. */
export function findOverlapEnd(keys: SigningKeys): number | undefined {
  let end: number | undefined;
  for (const { expiresAt } of keys.secrets) {
    if (expiresAt !== undefined && (end === undefined || expiresAt < end)) end = expiresAt;
  }
  return end;
}

export interface Rotation {
  secret: string;
  /** 0 retires the old secret at once. */
  overlapMs: number;
  /** Abandons a running rotation: of its secrets only the current one stays live during the new overlap. */
  force: boolean;
}

export function startRotation(keys: SigningKeys, { secret, overlapMs, force }: Rotation, now: number): SigningKeys {
  if (findOverlapEnd(keys) !== undefined && !force) {
    throw new PosthornError(
      "conflict",
      "A rotation is already running. Confirm it or retire the old secret first, or replace it with force.",
    );
  }
  if (keys.secrets.some((live) => live.secret === secret)) {
    throw secretInUse();
  }
  const [old] = keys.secrets;
  if (overlapMs === 0 || old === undefined) return replaceSecret(keys, secret, now);
  const next: LiveSecret = { secret, state: "next", createdAt: now, expiresAt: undefined };
  return { ...keys, secrets: [{ ...old, expiresAt: now + overlapMs }, next] };
}

/**
 * The owner has the new secret: it signs the plain header from now on. The old one stays for the rest of the overlap.
 */
export function confirmRotation(keys: SigningKeys): SigningKeys {
  const next = keys.secrets.find(({ state }) => state === "next");
  if (next === undefined) throw nothingToEnd("There is no rotation to confirm.");
  const others = keys.secrets.filter((live) => live !== next);
  const previous = others.map((live): LiveSecret => ({ ...live, state: "previous" }));
  return { ...keys, secrets: [{ ...next, state: "current" }, ...previous] };
}

/** Ends the overlap: replaced secrets no longer sign. */
export function retireReplaced(keys: SigningKeys): SigningKeys {
  if (findOverlapEnd(keys) === undefined) throw nothingToEnd("There is no old secret to retire.");
  const left = keys.secrets.filter(({ expiresAt }) => expiresAt === undefined);
  return { ...keys, secrets: left.map((live): LiveSecret => ({ ...live, state: "current" })) };
}

/** Returns the same object when no overlap has ended. */
export function endOverlap(keys: SigningKeys, now: number): SigningKeys {
  const end = findOverlapEnd(keys);
  return end !== undefined && end <= now ? retireReplaced(keys) : keys;
}

/** The text for the encrypted column. */
export function formatSigningKeys({ secrets, ed25519, declared }: SigningKeys): string {
  return JSON.stringify({ secrets: secrets.map(toWireNames), ed25519: ed25519 && toWireNames(ed25519), declared });
}

export function parseSigningKeys(text: string): SigningKeys {
  const { secrets, ed25519, declared } = JSON.parse(text) as { secrets: object[]; ed25519?: object; declared?: string };
  return {
    secrets: secrets.map((live) => ({ expiresAt: undefined, ...toCodeNames(live) }) as LiveSecret),
    ed25519: ed25519 && (toCodeNames(ed25519) as Ed25519Key),
    declared,
  };
}

function current(secret: string, now: number): LiveSecret {
  return { secret, state: "current", createdAt: now, expiresAt: undefined };
}

function nothingToEnd(message: string): PosthornError {
  return new PosthornError("conflict", `${message} Start a rotation with rotate-secret.`);
}
