import type { IncomingMessage } from "node:http";
import { VERSION } from "../config/version.ts";
import { createAuthenticate, findCaller } from "../api/authenticate.ts";
import { createClientAddress, createExemption, createPublicUrl } from "../intake/request.ts";
import { createConnectionGate } from "../api/connection-gate.ts";
import { createDashboard } from "../api/dashboard/dashboard.ts";
import { createIntake, noteAnswer } from "../intake/hot-routes.ts";
import { createHttpServer } from "../api/server.ts";
import { createPasses } from "../api/session/passes.ts";
import { createPortalLinks } from "../api/session/passes.ts";
import { createSessions } from "../api/session/sessions.ts";
import { createServerErrors } from "../telemetry/server-errors.ts";
import type { Capacity } from "./capacity.ts";
import { openOidc } from "./oidc.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Receivers } from "./receivers.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** The server with its hot routes. It accepts no connection before `listen` is called. */
export type HttpFace = ReturnType<typeof openServer>;

const MAX_PUBLISH_BYTES = 16 * 1024 * 1024;
export const HTTP_CLOSE_MS = 1500;

export function openServer(start: Start, made: Storage & Capacity & Tenancy & Outgoing & Receivers) {
  const { config, options, logger, parts } = start;
  const { clock, createId, authors, secretBox, metrics, work, findTrouble, keys, passRecords, tenants, store } = made;
  const { webhooks, publisher } = made;
  const { limits, trustedProxies, tlsCert, tlsKey } = config;
  const clientAddress = createClientAddress(trustedProxies);
  const isExempt = createExemption(trustedProxies);
  const publicUrl = createPublicUrl(config.publicUrl, trustedProxies);
  const oidc = openOidc(start, made, publicUrl);
  const userMark = oidc?.userMark;
  const passesFor = (use: "session" | "portal") =>
    createPasses({ use, secretBox, keys, records: passRecords, userMark, clock });
  /** The id of a deleted tenant can be used again, and an erased one stays known by its id. */
  const isSame = async (tenantId: string, since: number) => {
    const found = await tenants.get(tenantId).catch(() => undefined);
    if (found === undefined || found.createdAt > since) return false;
    const erasure = await store.jobs.findErasure(tenantId);
    return erasure === undefined || erasure.startedAt < since;
  };
  const sessions = createSessions({ passes: passesFor("session"), records: passRecords, publicUrl, clock });
  const portalLinks = createPortalLinks({ passes: passesFor("portal"), records: passRecords, isSame, clock });
  const dashboard = createDashboard({ version: VERSION, frameOrigins: config.portal.frameOrigins });
  const callers = { keys, sessions, portalLinks };
  const authenticate = createAuthenticate({ ...callers, clientAddress, isExempt, clock, logger });
  const onServerError = createServerErrors({ logger, metrics, now: clock.now });
  const intake = createIntake({
    webhooks,
    publisher,
    authenticate,
    clientAddress,
    publicUrl,
    findTrouble,
    work,
    maxUnansweredBytes: limits.maxUnansweredBytes,
    maxPublishBytes: MAX_PUBLISH_BYTES,
    createId,
    onRequest: metrics.countRequest,
    noteAnswer: options.activity && noteAnswer,
    onServerError,
  });
  const http = createHttpServer({
    intake,
    authenticate,
    authors,
    clientAddress,
    dashboard,
    tls: tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey },
    headersTimeoutMs: limits.headersTimeoutS * 1000,
    requestTimeoutMs: limits.requestTimeoutS * 1000,
    connections: createConnectionGate({
      maxConnections: limits.maxConnections,
      // So that one address alone never fills the gateway.
      maxPerAddress: Math.min(limits.maxConnectionsPerAddress, Math.max(1, Math.floor(limits.maxConnections / 2))),
      isExempt,
      onClosed: metrics.countClosedConnection,
      now: clock.now,
    }),
    onServerError,
    onAnswered: options.activity?.request,
  });
  parts.add(() => http.close(options.httpCloseMs ?? HTTP_CLOSE_MS));
  return {
    http,
    onServerError,
    authenticate,
    findCaller: (request: IncomingMessage) => findCaller(callers, request),
    sessions,
    oidc: oidc?.signIn,
    portalLinks,
    publicUrl,
    clientAddress,
    dashboard,
  };
}
