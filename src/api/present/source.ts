import { MASK, type SourceSecret } from "../../model/secrets.ts";
import { fillIn } from "../../model/shape.ts";
import { SourceInput } from "../../model/source.ts";
import { maskOptions, type SourceRecord } from "../../resources/sources/source-record.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Source as Described } from "../routes/sources.docs.ts";
import { isoTime } from "./time.ts";

/** The one mapping of a source to the wire, without secrets: answers that may show one add it. */
export function presentSource(record: SourceRecord): AnswerOf<typeof Described> {
  const { source, state, managedBy, createdAt, updatedAt } = record;
  const { auth, pathToken, secrets } = state;
  return {
    ...fillIn(SourceInput.properties, state.shown),
    kind: source.kind,
    tenant_id: source.tenantId,
    status: source.status,
    secrets: secrets.map(presentSecret),
    auth: auth === undefined ? null : { header: auth.header, token: MASK },
    max_bytes: source.maxBytes,
    event_type: state.shown.event_type ?? null,
    only: source.only?.map(({ text }) => text) ?? null,
    refuse_replays: source.refusesReplays,
    path_token: pathToken === undefined ? null : MASK,
    options: maskOptions(state.options),
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

/** The end of a secret, so that its owner can recognise it; nothing if the secret is short. */
function hintOf({ secret }: SourceSecret): string {
  return secret.length < MIN_HINTED_LENGTH ? "…" : `…${secret.slice(-HINT_LENGTH)}`;
}
