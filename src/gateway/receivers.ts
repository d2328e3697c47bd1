import { createFetchText } from "../destinations/wire/http-client.ts";
import { probesWithoutDeliveries } from "../deliver/target.ts";
import { type BrokerKind, describeQueue } from "../model/connection.ts";
import { PosthornError } from "../model/errors.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import { checkGate, checkHold } from "../model/hold-rules.ts";
import { openMirroredValidations } from "../resources/validations/mirrored-validations.ts";
import { createProcessRequest } from "../intake/accept-events.ts";
import { createBodyChecker } from "../sandbox/text/body-check.ts";
import { DEFAULT_PUBLISH_LIMITS } from "../intake/publish/publish-body.ts";
import { createPublisher } from "../intake/publish/publish.ts";
import { createPullers, type Pullers, type PullersOptions } from "../intake/messages/pullers.ts";
import { createRequestLog, createWebhookLog } from "../intake/webhook-log.ts";
import { createEditedReplays } from "../replays/edited-replay.ts";
import { createRequestReplays } from "../replays/request-replay.ts";
import { createSourceKinds } from "../sources/kinds.ts";
import { createValidationChecker } from "../sandbox/validation/validation-check.ts";
import { createWebhookReceiver } from "../intake/webhook.ts";
import type { Draft } from "../resources/draft.ts";
import { openSources } from "../resources/sources/sources.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Acts } from "./acts.ts";
import type { Brokers } from "./brokers.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { KnownTypes } from "./event-types.ts";
import { openPlugins } from "./plugins.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** Where webhooks and events come from. */
export type Receivers = Awaited<ReturnType<typeof openReceivers>>;

export async function openReceivers(
  start: Start,
  made: Storage & Capacity & Tenancy & KnownTypes & Brokers & Outgoing & Subscribers & Delivery & Acceptance & Acts,
) {
  const { store, clock, authors, createId, schemas, masking, ingest, forwarding, endedEvents, replays } = made;
  const { findTrouble } = made;
  const { accept } = ingest;
  const checks = await openChecks(start, made);
  const { bodies, validationChecker } = checks;
  const late: { pullers?: Pullers } = {};
  const { kinds, sources, plugins } = await openSourceKinds(start, made, () => late.pullers?.update());
  const log = createWebhookLog({ logRequest: createRequestLog(store.events.logRequest, clock.now), createId });
  const processRequest = createProcessRequest({
    accept,
    log,
    clock,
    createId,
    bodies,
    schemas,
    masking,
    forwarding,
    validations: validationChecker,
  });
  const webhooks = createWebhookReceiver({ findSource: sources.find, kinds, processRequest, findTrouble, clock, log });
  const pullers = createPullers({
    listSources: () => sources.list(undefined).map(({ source }) => source),
    kinds,
    processRequest,
    log,
    endedEvents,
    store,
    reopen: replays.reopenByMessage,
    bodies,
    messageKey: start.config.messageKey,
    maxDepth: start.config.limits.maxDepth,
    clock,
    maxHeld: createHoldLimit(made),
    onTrouble: ({ name }, error, what) => start.logger.warn({ source: name, error }, what),
    onSettled: start.options.activity?.message,
  });
  late.pullers = pullers;
  const limits = { ...DEFAULT_PUBLISH_LIMITS, maxDepth: start.config.limits.maxDepth };
  return {
    ...checks,
    plugins,
    sources,
    sourceKinds: kinds,
    webhooks,
    pullers,
    requestReplays: createRequestReplays({
      store,
      findSource: sources.find,
      webhooks,
      clock,
      describe: ({ id, tenantId, source }, eventIds) =>
        authors.note({
          act: "request.replay",
          kind: "request",
          id,
          tenantId,
          details: { source, event_ids: eventIds },
        }),
    }),
    editedReplays: createEditedReplays({ accept, clock, createId, schemas, masking, maxDepth: limits.maxDepth }),
    publisher: createPublisher({ accept, clock, createId, limits, schemas, masking }),
  };
}

/** How many messages of a queue may be held now: none while events cannot be accepted or delivered. */
function createHoldLimit({ findTrouble, targets, subscriptions }: Capacity & Subscribers): PullersOptions["maxHeld"] {
  /** What is in a fallback is nowhere else, and is for another gateway: this one would take it for known, or its own. */
  function isFallback(place: string): boolean {
    const all = subscriptions.list(undefined);
    return all.some((one) => subscriptions.findFallback(one)?.queuePlace === place);
  }

  return ({ tenantId, kind, settings }, { connection, target: name, maxUnacknowledged, isUntilDelivered }) => {
    if (findTrouble() !== undefined) return 0;
    const { queue } = settings.options;
    if (isFallback(describeQueue(kind as BrokerKind, connection, String(queue)))) return 0;
    const all = name === undefined && !isUntilDelivered ? [] : targets.list(tenantId);
    // A source that names no target means the only one.
    const known = name === undefined && all.length === 1 ? all[0] : all.find((target) => target.name === name);
    if (known?.state === undefined) return maxUnacknowledged;
    const { mode, rules, check } = known.state;
    const isChecked = rules.health !== undefined && known.subscriptions.some(({ status }) => status === "active");
    // Also before three checks have failed, and before the first one of a start.
    if (isChecked && mode.forced !== "NORMAL" && (check === undefined || check.error !== undefined)) return 0;
    if (!mode.isOpen) return maxUnacknowledged;
    // Without a health check, one message at a time probes whether the target is back.
    return probesWithoutDeliveries(known.state) ? 0 : 1;
  };
}

/** The checks of bodies before events are accepted. */
async function openChecks(
  { config, options, logger, parts }: Start,
  { store, clock, registry }: Storage & Tenancy & Acceptance,
) {
  /** Filled by those who tell of it. */
  const alertNotice: { look?: () => void } = {};
  const create = options.makers?.createBodyChecker?.(createBodyChecker) ?? createBodyChecker;
  const bodies = create({ maxDepth: config.limits.maxDepth });
  parts.add(() => bodies.close());
  const validationChecker = createValidationChecker({ mode: config.validationMode });
  parts.add(() => validationChecker.close());
  const validations = await openMirroredValidations({
    registry,
    store,
    clock,
    logger,
    folder: config.validationsDir,
    examine: validationChecker.examine,
    onChange: validationChecker.update,
    onBrokenChange: () => alertNotice.look?.(),
  });
  parts.add(() => validations.stop());
  return { bodies, validationChecker, validations, alertNotice };
}

async function openSourceKinds(
  start: Start,
  made: Storage & Tenancy & Brokers & Outgoing & Subscribers & Acceptance,
  onChange: () => void,
) {
  const { config, options, logFault, parts } = start;
  const { store, clock, random, registry, secretBox, client, failureEvents, connections } = made;
  const { sharedTargets, targets, subscriptions } = made;
  const plugins = await openPlugins(start, made, () => sources);
  const kinds = createSourceKinds({ fetchText: createFetchText(client), connections }, [
    ...plugins.sourceKinds,
    ...(options.sourceKinds ?? []),
  ]);
  const listTargets = (draft: Draft, tenantId: string) => {
    // They are what a source is judged by: the draft is to know.
    subscriptions.count(draft, tenantId);
    sharedTargets.listIn(draft, tenantId);
    return targets.list(tenantId);
  };
  const sources = await openSources({
    registry,
    records: store.records,
    clock,
    random,
    secretBox,
    kinds,
    anySource: config.anySource,
    maxBytes: config.limits.maxBodyBytes,
    onChange,
    listTargets,
    checkPulled({ shown: { tenant_id: tenantId = DEFAULT_TENANT }, options: given }, managedBy, draft) {
      const all = listTargets(draft, tenantId);
      const meant =
        given["target"] === undefined && all.length === 1 ? all[0] : all.find(({ name }) => name === given["target"]);
      // Those of the same file are about to change with it, and are judged then.
      const judged = (meant?.subscriptions ?? []).filter((one) => managedBy === "api" || one.managedBy === "api");
      const gate =
        managedBy === "api"
          ? checkGate(
              given,
              all.map(({ name }) => name),
            )
          : [];
      const [problem] = [...gate, ...checkHold(given, judged)];
      if (problem === undefined) return;
      throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}.`, { field: problem.field });
    },
    onDisabled: failureEvents.sourceDisabled,
    onFault: logFault,
  });
  parts.add(() => sources.stop());
  return { kinds, sources, plugins };
}
