import { VERSION } from "../config/version.ts";
import { createExportGate } from "../http/export-gate.ts";
import { addRoutes } from "../http/routes/add-routes.ts";
import { reportRetention } from "../operate/retention.ts";
import { createStatus } from "../operate/status.ts";
import { createParkedMessages } from "../receive/pulled/parked-messages.ts";
import type { Acts } from "./acts.ts";
import type { Background } from "./background.ts";
import type { Brokers } from "./brokers.ts";
import type { Capacity } from "./capacity.ts";
import type { Delivery } from "./delivery.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Receivers } from "./receivers.ts";
import type { HttpFace } from "./server.ts";
import type { Storage } from "./storage.ts";
import type { Subscribers } from "./subscribers.ts";
import type { Tenancy } from "./tenancy.ts";

/** A loop that is later than this has more urgent things to do than exports. */
const EXPORTS_WAIT_LAG_MS = 50;

/** Every route but the hot ones. */
export function openRoutes(
  { config, logger }: Start,
  made: Storage &
    Capacity &
    Tenancy &
    Brokers &
    Outgoing &
    Subscribers &
    Delivery &
    Acts &
    Receivers &
    Background &
    HttpFace,
): void {
  const { store, clock, loopLag, jobs, retention, plugins } = made;
  const status = createStatus({
    ...made,
    reportRetention: (tenantId) => reportRetention({ store, jobs, times: retention, clock }, tenantId),
  });
  addRoutes(made.http.app, {
    ...made,
    version: VERSION,
    logger,
    open: { status: config.statusPublic, metrics: config.metricsPublic, catalog: config.catalogPublic },
    exports: createExportGate({
      maxExports: config.limits.maxExports,
      maxExportsPerKey: config.limits.maxExportsPerKey,
      clock,
      isBusy: () => loopLag.lagMs > EXPORTS_WAIT_LAG_MS,
    }),
    status,
    parked: createParkedMessages(made.connections),
  });
  plugins.addRoutes(made.http.app);
}
