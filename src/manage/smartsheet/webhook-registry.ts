import type { Clock } from "../../domain/clock.ts";
import type { RegisteredWebhooks } from "../../domain/smartsheet.ts";
import type { SmartsheetWebhookRow } from "../../store/port/smartsheet.ts";
import type { Store } from "../../store/store.ts";
import type { SecretBox } from "../../registry/secret-box.ts";

/** Smartsheet's webhooks that were registered here, with the secrets that they sign with. */
export interface WebhookRegistry {
  /** What verifies callbacks; undefined when nothing was ever registered for the source. */
  find(source: string): RegisteredWebhooks | undefined;
  list(source: string): readonly KnownWebhook[];
  /** With another secret than before, the old one is taken for a day more: Smartsheet does not say when it ends. */
  save(webhook: KnownWebhook & { secret: string }): Promise<void>;
  setStatus(source: string, webhookId: string, status: string): Promise<void>;
  remove(source: string, webhookId: string): Promise<void>;
}

export interface KnownWebhook {
  source: string;
  webhookId: string;
  sheetId: string;
  status: string;
}

interface Secrets {
  current: string;
  previous?: { secret: string; until: number };
}

interface Entry extends KnownWebhook {
  secrets: Secrets;
  createdAt: number;
}

const GRACE_MS = 86_400_000;

export interface WebhookRegistryOptions {
  store: Pick<Store, "loadSmartsheetWebhooks" | "saveSmartsheetWebhook" | "deleteSmartsheetWebhook">;
  secretBox: SecretBox;
  clock: Pick<Clock, "wall">;
}

export async function openWebhookRegistry(options: WebhookRegistryOptions): Promise<WebhookRegistry> {
  const { store, secretBox, clock } = options;
  const entries = new Map<string, Map<string, Entry>>();
  const registered = new Map<string, RegisteredWebhooks>();
  for (const row of await store.loadSmartsheetWebhooks()) put(fromRow(row));

  function fromRow(row: SmartsheetWebhookRow): Entry {
    const { source, webhookId, sheetId, status, createdAt } = row;
    const secrets = JSON.parse(secretBox.open(row.secrets, ownerOf(source, webhookId))) as Secrets;
    return { source, webhookId, sheetId, status, secrets, createdAt };
  }

  function put(entry: Entry): void {
    const ofSource = entries.get(entry.source) ?? new Map<string, Entry>();
    entries.set(entry.source, ofSource.set(entry.webhookId, entry));
    refresh(entry.source);
  }

  function refresh(source: string): void {
    const known = [...(entries.get(source)?.values() ?? [])];
    if (known.length === 0) return void registered.delete(source);
    registered.set(source, {
      secrets: new Map(known.map(({ webhookId, secrets }) => [webhookId, liveSecrets(secrets)])),
    });
  }

  function liveSecrets({ current, previous }: Secrets): string[] {
    return previous === undefined || previous.until <= clock.wall() ? [current] : [current, previous.secret];
  }

  async function write(entry: Entry): Promise<void> {
    const { source, webhookId, sheetId, status, secrets, createdAt } = entry;
    await store.saveSmartsheetWebhook({
      source,
      webhookId,
      sheetId,
      status,
      secrets: secretBox.seal(JSON.stringify(secrets), ownerOf(source, webhookId)),
      createdAt,
      updatedAt: clock.wall(),
    });
    put(entry);
  }

  return {
    find: (source) => registered.get(source),
    list: (source) => [...(entries.get(source)?.values() ?? [])],
    async save({ source, webhookId, sheetId, status, secret }) {
      const before = entries.get(source)?.get(webhookId);
      const secrets = nextSecrets(before?.secrets, secret, clock.wall());
      const isSame = before?.secrets === secrets && before.status === status && before.sheetId === sheetId;
      if (isSame) return;
      await write({ source, webhookId, sheetId, status, secrets, createdAt: before?.createdAt ?? clock.wall() });
    },
    async setStatus(source, webhookId, status) {
      const entry = entries.get(source)?.get(webhookId);
      if (entry !== undefined && entry.status !== status) await write({ ...entry, status });
    },
    async remove(source, webhookId) {
      await store.deleteSmartsheetWebhook(source, webhookId);
      entries.get(source)?.delete(webhookId);
      refresh(source);
    },
  };
}

function nextSecrets(before: Secrets | undefined, secret: string, wall: number): Secrets {
  if (before === undefined) return { current: secret };
  if (before.current === secret) return before;
  return { current: secret, previous: { secret: before.current, until: wall + GRACE_MS } };
}

function ownerOf(source: string, webhookId: string): string {
  return `smartsheet/${source}/${webhookId}`;
}
