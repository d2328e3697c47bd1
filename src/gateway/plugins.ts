import { toCamelCase } from "../config/settings-tree.ts";
import type { OpenPlugin, Plugin, PluginGateway } from "../plugin.ts";
import { PLUGINS } from "../plugins.ts";
import type { Sources } from "../resources/sources/sources.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Start } from "./options.ts";
import { createPartStack } from "./part-stack.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** All plugins, open. */
export interface Plugins extends Required<Omit<OpenPlugin, "close">> {
  /** A second call does nothing. */
  close(): Promise<void>;
}

export async function openPlugins(
  { config, options, logger, logFault: onFault, parts }: Start,
  { registry, secretBox, clock, random, ownEvents }: Storage & Tenancy & Acceptance,
  sources: () => Sources,
): Promise<Plugins> {
  const { publicUrl, userAgent } = config;
  const gateway: PluginGateway = {
    registry,
    secretBox,
    clock,
    random,
    logger,
    onFault,
    ownEvents,
    sources,
    publicUrl,
    userAgent,
  };
  const stack = createPartStack();
  parts.add(stack.close);
  const open: OpenPlugin[] = [];
  for (const plugin of [...PLUGINS, ...(options.plugins ?? [])]) {
    const opened = await plugin.open(gateway, settingsOf(plugin, { ...config }));
    stack.add(opened.close);
    open.push(opened);
  }
  return {
    sourceKinds: open.flatMap(({ sourceKinds }) => sourceKinds),
    jobs: open.flatMap(({ jobs }) => jobs),
    listDisabledSources: () => open.flatMap((plugin) => plugin.listDisabledSources?.() ?? []),
    addRoutes: (app) => open.forEach((plugin) => plugin.addRoutes(app)),
    start: () => open.forEach((plugin) => plugin.start()),
    close: stack.close,
  };
}

/** The plugin's own records, and no others. */
function settingsOf({ settings }: Plugin, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(settings.properties).map((name) => [name, config[toCamelCase(name)]]));
}
