import { createFetchText } from "../deliver/fetch-text.ts";
import { openEventTypes } from "../registry/event-types.ts";
import { openMirroredValidations } from "../manage/mirrored-validations.ts";
import { openSmartsheet } from "../manage/smartsheet/open.ts";
import { openSources } from "../registry/sources.ts";
import { createBodyChecker } from "../receive/body-check.ts";
import { DEFAULT_PUBLISH_LIMITS } from "../receive/publish-item.ts";
import { createPublisher } from "../receive/publish.ts";
import { createRequestLog } from "../receive/request-log.ts";
import { createRequestReplays } from "../receive/request-replay.ts";
import { createSchemaChecker } from "../receive/schema/schema-check.ts";
import { createSourceKinds } from "../receive/sources/kinds.ts";
import type { SourceKind } from "../receive/sources/source-kind.ts";
import { createValidationChecker } from "../receive/validation/validation-check.ts";
import { createWebhookReceiver } from "../receive/webhook.ts";
import type { Delivery } from "./delivery.ts";
import type { Ground } from "./ground.ts";

/** Where webhooks and events come from, and what is asked of them before they are taken in. */
export async function openReception(ground: Ground, delivery: Delivery, moreKinds: readonly SourceKind[] = []) {
  const { config, logger, broken, logFault, store, clock, random, createId, secretBox } = ground;
  const { accept, client, forwarding, news, ownEvents } = delivery;
  const { limits } = config;
  const smartsheetParts = {
    registry: ground.registry,
    secretBox,
    clock,
    random,
    logger,
    settings: config,
    onFault: logFault,
  };
  const smartsheet = await openSmartsheet(smartsheetParts, () => ({ sources, ownEvents }));
  const kindServices = { clock, fetchText: createFetchText(client), smartsheet: smartsheet.context };
  const kinds = createSourceKinds(kindServices, moreKinds);
  const sources = await openSources({
    registry: ground.registry,
    records: store.records,
    clock,
    random,
    secretBox,
    kinds,
    anySource: config.anySource,
    maxBytes: limits.maxBodyBytes,
    onDisabled: news.sourceDisabled,
    onFault: logFault,
  });
  const schemas = createSchemaChecker();
  const eventTypes = await openEventTypes({
    registry: ground.registry,
    clock,
    examine: schemas.examine,
    onChange: schemas.update,
  });
  const validationChecker = createValidationChecker({ mode: config.validationMode });
  const validations = await openMirroredValidations({
    registry: ground.registry,
    store,
    clock,
    logger,
    folder: config.validationsDir,
    examine: validationChecker.examine,
    onChange: validationChecker.update,
    publishOwn: (event) => ownEvents.publishOwn(event),
  });
  const bodies = createBodyChecker({
    maxDepth: limits.maxDepth,
    maxOnLoopBytes: broken?.checkLargeBodiesOnLoop === true ? Number.POSITIVE_INFINITY : undefined,
  });
  const webhooks = createWebhookReceiver({
    findSource: sources.find,
    kinds,
    accept,
    logRequest: createRequestLog(store.events.logRequest, clock.now),
    clock,
    createId,
    bodies,
    schemas,
    forwarding,
    validations: validationChecker,
  });
  const requestReplays = createRequestReplays({ store, findSource: sources.find, webhooks, clock });
  const publisher = createPublisher({
    accept,
    clock,
    createId,
    limits: { ...DEFAULT_PUBLISH_LIMITS, maxDepth: limits.maxDepth },
    schemas,
  });

  return {
    smartsheet,
    sources,
    schemas,
    eventTypes,
    validationChecker,
    validations,
    bodies,
    webhooks,
    requestReplays,
    publisher,
  };
}
