import { MASK } from "../../domain/mask.ts";
import type { SourceSecret } from "../../domain/source-secrets.ts";
import { isCredentialOption } from "../../registry/sources/source-settings.ts";
import type { SourceRecord } from "../../registry/sources/source-record.ts";
import { isoTime } from "./time.ts";

/** The one mapping of a source to the wire. Never a secret: the answers that may show one add it. */
export function presentSource({ source, state, managedBy, createdAt, updatedAt }: SourceRecord) {
  const { shown, auth, options, pathToken, secrets } = state;
  return {
    name: source.name,
    kind: source.kind,
    tenant_id: source.tenantId,
    status: source.status,
    secrets: secrets.map(presentSecret),
    auth: auth === undefined ? null : { header: auth.header, token: MASK },
    allowed_ips: shown.allowed_ips ?? null,
    max_bytes: source.maxBytes,
    methods: source.methods,
    content_types: shown.content_types ?? null,
    answer_within: shown.answer_within ?? null,
    event_type: shown.event_type ?? null,
    id_from: shown.id_from ?? null,
    ordering_key_from: shown.ordering_key_from ?? null,
    priority_from: shown.priority_from ?? null,
    only: source.only?.map(({ text }) => text) ?? null,
    manifest: shown.manifest ?? null,
    refuse_replays: source.refusesReplays,
    path_token: pathToken === undefined ? null : MASK,
    options: maskOptions(options),
    managed_by: managedBy,
    created_at: isoTime(createdAt),
    updated_at: isoTime(updatedAt),
    last_request_at: source.lastRequestAt === 0 ? null : isoTime(source.lastRequestAt),
  };
}

function presentSecret(secret: SourceSecret, index: number) {
  return {
    id: secret.id,
    current: index === 0,
    hint: hintOf(secret),
    created_at: isoTime(secret.createdAt),
    ends_at: isoTime(secret.endsAt) ?? null,
  };
}

const HINT_LENGTH = 4;
const MIN_HINTED_LENGTH = 16;

/** By what its owner may recognise it; of a short one nothing. */
function hintOf({ secret }: SourceSecret): string {
  return secret.length < MIN_HINTED_LENGTH ? "…" : `…${secret.slice(-HINT_LENGTH)}`;
}

function maskOptions(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(options);
  return Object.fromEntries(entries.map(([name, value]) => [name, isCredentialOption(name) ? MASK : value]));
}
