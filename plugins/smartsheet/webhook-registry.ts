import type { Clock } from "../../src/model/clock.ts";
import type { PluginGateway } from "../../src/plugin.ts";
import type { RegisteredWebhooks } from "./source-kind.ts";

/** Smartsheet's webhooks that were registered here, with their signing secrets. */
export interface WebhookRegistry {
  /** The secrets that verify callbacks; undefined when nothing was ever registered for the source. */
  find(source: string): RegisteredWebhooks | undefined;
  list(source: string): readonly KnownWebhook[];
  /** When the secret changes, the old one stays valid for a day, because Smartsheet does not say when it ends. */
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

interface Webhook extends KnownWebhook {
  secrets: Secrets;
}

const GRACE_MS = 86_400_000;

export async function openWebhookRegistry({
  registry,
  secretBox,
  clock,
}: Pick<PluginGateway, "registry" | "secretBox"> & { clock: Pick<Clock, "wall"> }): Promise<WebhookRegistry> {
  const bySource = new Map<string, Map<string, Webhook>>();
  const registered = new Map<string, RegisteredWebhooks>();

  const webhooks = await registry.open<Webhook>({
    kind: "smartsheet_webhook",
    noun: "webhook of Smartsheet",
    format: 1,
    read({ id, data, blob = new Uint8Array() }) {
      const { source, webhookId, sheetId, status } = JSON.parse(data) as KnownWebhook;
      const secrets = JSON.parse(secretBox.open(blob, ownerOf(id))) as Secrets;
      return { source, webhookId, sheetId, status, secrets };
    },
    write({ secrets, ...known }) {
      return { data: JSON.stringify(known), blob: secretBox.seal(JSON.stringify(secrets), ownerOf(idOf(known))) };
    },
    keyOf: (webhook) => ({ id: idOf(webhook) }),
    secretsOf: ({ secrets }) => secrets,
    onChange(changes) {
      const touched = new Set<string>();
      for (const { before, after } of changes) {
        const known = (after ?? before)?.thing;
        if (known === undefined) continue;
        if (after !== undefined) remember(known);
        else bySource.get(known.source)?.delete(known.webhookId);
        touched.add(known.source);
      }
      touched.forEach(refresh);
    },
  });

  function remember(webhook: Webhook): void {
    const ofSource = bySource.get(webhook.source) ?? new Map<string, Webhook>();
    bySource.set(webhook.source, ofSource.set(webhook.webhookId, webhook));
  }

  function refresh(source: string): void {
    const known = [...(bySource.get(source)?.values() ?? [])];
    if (known.length === 0) return void registered.delete(source);
    registered.set(source, {
      secrets: new Map(known.map(({ webhookId, secrets }) => [webhookId, liveSecrets(secrets)])),
    });
  }

  function liveSecrets({ current, previous }: Secrets): string[] {
    return previous === undefined || previous.until <= clock.wall() ? [current] : [current, previous.secret];
  }

  return {
    find: (source) => registered.get(source),
    list: (source) => [...(bySource.get(source)?.values() ?? [])],
    save: ({ secret, ...known }) =>
      registry.change(webhooks, (draft) => {
        const before = draft.find(webhooks, idOf(known))?.thing;
        const secrets = nextSecrets(before?.secrets, secret, clock.wall());
        const isSame =
          before?.secrets === secrets && before.status === known.status && before.sheetId === known.sheetId;
        if (!isSame) draft.put(webhooks, { ...known, secrets });
      }),
    setStatus: (source, webhookId, status) =>
      registry.change(webhooks, (draft) => {
        const known = draft.find(webhooks, idOf({ source, webhookId }))?.thing;
        if (known !== undefined && known.status !== status) draft.put(webhooks, { ...known, status });
      }),
    remove: (source, webhookId) =>
      registry.change(webhooks, (draft) => {
        const id = idOf({ source, webhookId });
        if (draft.find(webhooks, id) !== undefined) draft.remove(webhooks, id);
      }),
  };
}

function nextSecrets(before: Secrets | undefined, secret: string, wall: number): Secrets {
  if (before === undefined) return { current: secret };
  if (before.current === secret) return before;
  return { current: secret, previous: { secret: before.current, until: wall + GRACE_MS } };
}

/** Names of sources have no slash. */
function idOf({ source, webhookId }: Pick<KnownWebhook, "source" | "webhookId">): string {
  return `${source}/${webhookId}`;
}

function ownerOf(id: string): string {
  return `smartsheet/${id}`;
}
