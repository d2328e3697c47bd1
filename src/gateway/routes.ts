import { VERSION } from "../config/version.ts";
import { createExportGate } from "../api/export-gate.ts";
import { createGiveWay } from "../api/export-gate.ts";
import { addRoutes } from "../api/routes/add-routes.ts";
import { createDeliveryPresenter } from "../api/routes/deliveries.ts";
import { createStreams } from "../api/stream/streams.ts";
import { reportRetention } from "../jobs/retention.ts";
import { createStatus } from "../api/status.ts";
import { createParkedMessages } from "../queues/parked-messages.ts";
import type { Acts } from "./acts.ts";
import type { Alerting } from "./alerts.ts";
import type { Background } from "./background.ts";
import type { Brokers } from "./brokers.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { KnownTypes } from "./event-types.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Receivers } from "./receivers.ts";
import type { HttpFace } from "./server.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** When the event loop lags by more than this, exports and the catching up of streams wait. */
const READS_WAIT_LAG_MS = 50;

/** Every route except the two hot ones. */
export function openRoutes(
  { config, logger, logFault, parts }: Start,
  made: Storage &
    Capacity &
    Tenancy &
    KnownTypes &
    Brokers &
    Outgoing &
    Subscribers &
    Delivery &
    Acts &
    Receivers &
    Background &
    Alerting &
    HttpFace,
): void {
  const { store, clock, loopLag, jobs, retention, plugins } = made;
  const status = createStatus({
    ...made,
    version: VERSION,
    reportRetention: (tenantId) => reportRetention({ store, jobs, times: retention, clock }, tenantId),
  });
  const giveWay = createGiveWay({ isBusy: () => loopLag.lagMs > READS_WAIT_LAG_MS });
  const streams = createStreams({
    store,
    clock,
    giveWay,
    presentDelivery: createDeliveryPresenter(made),
    findSubscriptionName: (seq) => made.subscriptions.find(seq)?.name,
    maxStreams: config.limits.maxStreams,
    maxStreamsPerKey: config.limits.maxStreamsPerKey,
    maxBufferBytes: config.limits.streamBufferBytes,
    onDropped: (reason) => logger.info({ reason }, "live stream client dropped"),
    onFault: logFault,
  });
  parts.add(() => streams.close());
  addRoutes(made.http.app, {
    ...made,
    version: VERSION,
    portal: config.portal,
    logger,
    open: { status: config.statusPublic, metrics: config.metricsPublic, catalog: config.catalogPublic },
    exports: createExportGate({
      maxExports: config.limits.maxExports,
      maxExportsPerKey: config.limits.maxExportsPerKey,
      clock,
      giveWay,
    }),
    streams,
    status,
    parked: createParkedMessages(made.connections),
  });
  plugins.addRoutes(made.http.app);
}
