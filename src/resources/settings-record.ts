import { isDeepStrictEqual } from "node:util";
import { MASK } from "../model/secrets.ts";
import type { Authors } from "./authors.ts";
import { CONFIG } from "./authors.ts";
import type { Registry } from "./registry.ts";
import type { Resource } from "./resource.ts";

/** Settings by name, and fingerprints of those that are secret. */
export interface KeptSettings {
  readonly values: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

const ID = "settings";

/** Remembers the settings from run to run, so that the audit log can say which of them have changed. */
export async function openSettingsRecord(options: {
  registry: Registry;
  authors: Pick<Authors, "run" | "asGateway">;
  /** What applies where nothing is set: a default that comes with a release is nobody's change. */
  defaults: KeptSettings["values"];
}) {
  const { registry, authors, defaults } = options;
  const kept = await registry.open(createResource(defaults));

  return {
    /** At the start and at each reload. Writes nothing when nothing has changed. */
    async record(settings: KeptSettings): Promise<void> {
      const before = kept.find(ID)?.thing;
      if (before !== undefined && isDeepStrictEqual(toStored(before, defaults), toStored(settings, defaults))) return;
      const write = () =>
        registry.change(kept, (draft) => {
          draft.put(kept, settings);
          const changed = before === undefined ? [] : listChangedSecrets(before.secrets, settings.secrets);
          if (changed.length > 0) draft.explain({ changed_secrets: changed });
        });
      // There is nothing to compare the first settings with.
      await (before === undefined ? authors.asGateway(write) : authors.run(CONFIG, write));
    },
  };
}

function createResource(defaults: KeptSettings["values"]): Resource<KeptSettings> {
  return {
    kind: "config",
    noun: "configuration",
    format: 1,
    read({ data }) {
      const { values, secrets } = JSON.parse(data) as KeptSettings;
      return { values: { ...defaults, ...values }, secrets };
    },
    write: (settings) => ({ data: JSON.stringify(toStored(settings, defaults)) }),
    keyOf: () => ({ id: ID }),
    changesByItself: true,
    show: ({ values, secrets }) => ({
      ...values,
      ...Object.fromEntries(Object.keys(secrets).map((path) => [path, MASK])),
    }),
    secretsOf: ({ secrets }) => secrets,
    verbOf: () => "change",
  };
}

function toStored({ values, secrets }: KeptSettings, defaults: KeptSettings["values"]): KeptSettings {
  const isSet = ([path, value]: [string, unknown]) => !isDeepStrictEqual(value, defaults[path] ?? null);
  return { values: Object.fromEntries(Object.entries(values).filter(isSet)), secrets };
}

function listChangedSecrets(before: KeptSettings["secrets"], after: KeptSettings["secrets"]): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths.filter((path) => before[path] !== after[path]).sort();
}
