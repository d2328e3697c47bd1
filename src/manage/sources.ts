import { DEFAULT_TENANT } from "../domain/event.ts";
import { SOURCE_NAME_PATTERN, type Place, type Source, type SourceInput } from "../domain/source.ts";
import type { Clock } from "../domain/clock.ts";
import { isGatewayEventType } from "../domain/pattern.ts";
import { parsePointer } from "../domain/json-pointer.ts";
import type { SourceRow, Store } from "../store/store.ts";

/** Where webhooks come from: the declared ones, and any other name while the `*` source is on. */
export interface Sources {
  find(name: string): Source | undefined;
  list(): readonly Source[];
  /** Takes over what the configuration declares; says which left it. */
  applyDeclared(declared: readonly SourceInput[]): Promise<{ left: readonly string[] }>;
}

export interface SourcesOptions {
  store: Pick<Store, "loadSources" | "saveSource">;
  clock: Pick<Clock, "wall">;
  anySource: boolean;
  maxBytes: number;
  /** It took webhooks, and takes none any more. */
  onDisabled?: ((source: Source, reason: string) => void) | undefined;
}

const NAME = new RegExp(SOURCE_NAME_PATTERN);
/** Names that only the `*` source answers to are remembered, up to a bound. */
const MAX_REMEMBERED = 1000;

export async function openSources({ store, clock, anySource, maxBytes, onDisabled }: SourcesOptions): Promise<Sources> {
  const declared = new Map<string, Source>();
  const undeclared = new Map<string, Source>();
  for (const row of await store.loadSources()) declared.set(row.name, fromRow(row));

  function fromRow(row: SourceRow): Source {
    return toSource(JSON.parse(row.settings) as SourceInput, true);
  }

  function toSource(input: SourceInput, isDeclared: boolean): Source {
    return {
      name: input.name,
      kind: "generic",
      tenantId: input.tenant_id ?? DEFAULT_TENANT,
      status: input.status ?? "active",
      maxBytes: input.max_bytes ?? maxBytes,
      methods: input.methods ?? ["POST"],
      eventType: (input.event_type ?? "webhook.{source}").replaceAll("{source}", input.name),
      idFrom: parsePlace(input.id_from),
      orderingKeyFrom: parsePlace(input.ordering_key_from),
      priorityFrom: parsePlace(input.priority_from),
      declared: isDeclared,
    };
  }

  async function save(input: SourceInput, reason: string): Promise<void> {
    const before = declared.get(input.name);
    await store.saveSource({
      name: input.name,
      settings: JSON.stringify(input),
      managedBy: "config",
      updatedAt: clock.wall(),
    });
    const source = toSource(input, true);
    declared.set(input.name, source);
    if (before?.status === "active" && source.status !== "active") onDisabled?.(source, reason);
    undeclared.delete(input.name);
  }

  return {
    find(name) {
      const known = declared.get(name) ?? undeclared.get(name);
      if (known !== undefined || !anySource || !NAME.test(name)) return known;
      const source = toSource({ name }, false);
      // Nobody may speak for the gateway by choosing a name.
      if (isGatewayEventType(source.eventType)) return undefined;
      if (undeclared.size >= MAX_REMEMBERED) undeclared.clear();
      undeclared.set(name, source);
      return source;
    },
    list: () => [...declared.values()],
    async applyDeclared(inputs) {
      const names = new Set(inputs.map(({ name }) => name));
      const left: string[] = [];
      for (const row of await store.loadSources()) {
        const settings = JSON.parse(row.settings) as SourceInput;
        if (row.managedBy !== "config" || names.has(row.name) || settings.status === "paused") continue;
        // Its senders get 503 and try again: nothing is lost if it left the file by mistake.
        await save({ ...settings, status: "paused" }, "it left the configuration");
        left.push(row.name);
      }
      for (const input of inputs) await save(input, `the configuration says so: ${input.status ?? "active"}`);
      return { left };
    },
  };
}

function parsePlace(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const [where, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  return where === "header" ? { in: "header", name: rest.toLowerCase() } : { in: "body", pointer: parsePointer(rest) };
}
