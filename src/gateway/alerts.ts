import { findSourcePlace, createParkedMessages } from "../queues/parked-messages.ts";
import { isMeant, LOG_CHANNEL, toChannelSubscription, toActiveRules } from "../model/alert.ts";
import type { SubscriptionInput } from "../model/subscription.ts";
import { createFactsReader, createParkedCounts } from "../alerts/facts.ts";
import { openAlerts, type ShownAlert } from "../alerts/alerts.ts";
import type { Ending } from "../alerts/judge.ts";
import type { Config } from "../config/settings-tree.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Background } from "./background.ts";
import type { Brokers } from "./brokers.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Receivers } from "./receivers.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** Puts together what finds problems and sends alerts. */
export type Alerting = Awaited<ReturnType<typeof openAlerting>>;

export async function openAlerting(
  start: Start,
  made: Storage &
    Capacity &
    Tenancy &
    Brokers &
    Outgoing &
    Subscribers &
    Delivery &
    Acceptance &
    Receivers &
    Background,
) {
  const { config, logFault, parts } = start;
  const { registry, ownEvents, clock, createId, sources, attemptWindows } = made;
  const rules = toActiveRules(config.alerts.rules);
  if (config.alerts.enabled) attemptWindows.watch(rules);
  const messages = createParkedMessages(made.connections);
  const parkedCounts = createParkedCounts({
    clock,
    // Paused sources too: their parked messages are still there.
    listSources: () =>
      sources
        .list(undefined)
        .filter(({ source: { kind, settings } }) => findSourcePlace(kind, settings.options) !== undefined)
        .map(({ source: { name, tenantId } }) => ({ name, tenantId })),
    async count(name) {
      const source = sources.find(name);
      return source === undefined ? 0 : messages.open(source).count();
    },
  });
  parts.add(() => parkedCounts.stop());
  const log = { channels: config.alerts.channels };
  const alerts = await openAlerts({
    registry,
    ownEvents,
    clock,
    createId,
    rules,
    isErasing: (tenantId) => made.tenants.find(tenantId)?.thing.isErasing === true,
    everyMs: config.alerts.everyS * 1000,
    loadFacts: createFactsReader({
      ...made,
      attempts: attemptWindows.byLength,
      listDisabledSources: made.plugins.listDisabledSources,
      parked: parkedCounts,
      listBrokenFiles: made.validations.listBroken,
      listCertificates: made.certificates.list,
      listOverdueSecrets: made.rotation.listOverdue,
    }),
    ...createAlertLog(start, () => log.channels),
    onFault: logFault,
  });
  parts.add(() => alerts.stop());

  return {
    alerts,
    startAlerts() {
      if (!config.alerts.enabled) return;
      made.alertNotice.look = () => alerts.lookSoon("validation_broken");
      parkedCounts.start();
      alerts.start();
      if (made.validations.listBroken().length > 0) alerts.lookSoon("validation_broken");
    },
    /** Whether it looks at all is decided at the start. */
    reloadAlerts(given: Config["alerts"]) {
      const changed = toActiveRules(given.rules);
      if (config.alerts.enabled) attemptWindows.watch(changed);
      alerts.setRules(changed);
      log.channels = given.channels;
    },
  };
}

/** Every channel except the log is a subscription like any other. */
export function toChannelSubscriptions({ channels }: Config["alerts"]): SubscriptionInput[] {
  return channels.filter(({ kind }) => kind !== LOG_CHANNEL).map(toChannelSubscription);
}

const ENDED: Readonly<Record<Ending, string>> = {
  over: "alert cleared",
  muted: "alert ended by a mute",
  unwatched: "alert ended, its rule is disabled",
};

/** Without a log channel every alert is logged. Tenants' alerts are logged with the gateway's. */
function createAlertLog({ logger }: Start, listChannels: () => Config["alerts"]["channels"]) {
  function isLogged({ tenantId, rule, severity }: ShownAlert): boolean {
    const channels = listChannels().filter(({ kind }) => kind === LOG_CHANNEL);
    if (channels.length === 0) return tenantId === "";
    return channels.some(
      (channel) => (channel.tenant_id ?? "") === tenantId && isMeant(channel, { rule: rule.name, severity }),
    );
  }

  const describe = ({ id, rule, severity, tenantId, count, causes, isMuted }: ShownAlert) => ({
    alert_id: id,
    rule: rule.name,
    severity,
    ...(tenantId !== "" && { tenant_id: tenantId }),
    count,
    causes: causes.map(({ name }) => name),
    ...(isMuted && { muted: true }),
  });

  return {
    onFired(alert: ShownAlert) {
      if (isLogged(alert)) logger.warn(describe(alert), `alert: ${alert.rule.description}`);
    },
    onCleared(alert: ShownAlert, ending: Ending) {
      if (isLogged(alert)) logger.info(describe(alert), `${ENDED[ending]}: ${alert.rule.description}`);
    },
  };
}
