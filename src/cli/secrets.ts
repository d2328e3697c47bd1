import { readFileSync } from "node:fs";
import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { formatAgo, formatFacts, note, print } from "./output.ts";

interface RotationAnswer {
  id: string;
  secret?: string;
  overlap_ends_at: string | null;
  secrets: { secret?: string; state: string; created_at: string; expires_at: string | null }[];
  ed25519?: { public_key: string; created_at: string } | null;
}

export interface RotateFlags extends ClientFlags {
  secretFile?: string;
  overlap?: string;
  force?: boolean;
}

export async function runRotateSecret(subscription: string, flags: RotateFlags): Promise<void> {
  const wish = {
    secret: flags.secretFile === undefined ? undefined : readSecret(flags.secretFile),
    overlap_s: flags.overlap === undefined ? undefined : parseSeconds(flags.overlap),
    force: flags.force,
  };
  const client = await connect(flags);
  const answer = await post(client, subscription, "rotate-secret", wish);
  if (flags.json === true) return print(answer.text);
  const { secret, overlap_ends_at: endsAt } = readAnswer(client, answer) as RotationAnswer;
  note(
    endsAt === null
      ? "the old secret has ended"
      : `both secrets sign until ${endsAt} (${formatAgo(endsAt, Date.now())}); the receiver needs the new one by then`,
  );
  // Alone, so that it can be caught by a variable.
  print(secret ?? "");
}

export async function runConfirmSecret(subscription: string, flags: ClientFlags & { retire?: boolean }): Promise<void> {
  const client = await connect(flags);
  tell(client, await post(client, subscription, "rotate-secret/confirm", { retire: flags.retire }), flags);
}

export async function runRetireSecret(subscription: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  tell(client, await post(client, subscription, "rotate-secret/retire", {}), flags);
}

export async function runShowSecret(subscription: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(`/api/v1/subscriptions/${encodeURIComponent(subscription)}/secret`);
  if (flags.json === true) return print(answer.text);
  const { secrets, ed25519 } = readAnswer(client, answer) as RotationAnswer;
  print(formatFacts([...describeSecrets(secrets), ["public key", ed25519?.public_key]]));
}

function tell(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  print(formatFacts(describeSecrets((readAnswer(client, answer) as RotationAnswer).secrets)));
}

function describeSecrets(secrets: RotationAnswer["secrets"]) {
  const wallMs = Date.now();
  return secrets.map(({ state, secret, created_at: createdAt, expires_at: expiresAt }) => {
    const end = expiresAt === null ? "" : `, ends ${formatAgo(expiresAt, wallMs)}`;
    const made = `made ${formatAgo(createdAt, wallMs)}${end}`;
    return [state, secret === undefined ? made : `${secret}  (${made})`] as const;
  });
}

function post(client: ApiClient, subscription: string, act: string, body: object): Promise<ApiAnswer> {
  const path = `/api/v1/subscriptions/${encodeURIComponent(subscription)}/${act}`;
  return client.post(path, JSON.stringify(body), { "content-type": "application/json" });
}

function readSecret(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw new CommandFailure(`Cannot read ${path} (${(error as NodeJS.ErrnoException).code}).`);
  }
}

const UNIT_S: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };

function parseSeconds(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  if (amount === undefined) throw usageFailure(`"${text}" is no duration; write one like 14d, 2h or 0.`);
  return Number(amount) * (UNIT_S[unit] ?? 1);
}
