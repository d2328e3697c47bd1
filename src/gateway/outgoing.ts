import { hostname, networkInterfaces } from "node:os";
import { createAddressGuard } from "../destinations/wire/address-guard.ts";
import { parseDestination } from "../destinations/wire/destination.ts";
import { openHttpClient } from "../destinations/wire/http-client.ts";
import { createDispatch } from "../deliver/attempt.ts";
import { createNotedCertificates } from "../destinations/wire/noted-certificates.ts";
import { createOwnUrls } from "../destinations/wire/own-urls.ts";
import { parseEgressProxy } from "../destinations/wire/proxy-tunnel.ts";
import { traceSenders } from "../deliver/traced-senders.ts";
import type { Clock, Timer } from "../model/clock.ts";
import { createDestinationKinds } from "../destinations/kinds.ts";
import { openSenders } from "../destinations/open-senders.ts";
import { openTemplates } from "../sandbox/templates/open-templates.ts";
import { createRequestCredentials } from "../resources/secret-box.ts";
import { findTracing, type Tracing } from "../telemetry/tracing.ts";
import type { Brokers } from "./brokers.ts";
import type { MutualParts } from "./mutual-parts.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** Everything that leaves the gateway goes through these parts. */
export type Outgoing = ReturnType<typeof openOutgoing>;

export function openOutgoing(
  { config, options, logger, logFault, parts }: Start,
  { store, clock, secretBox, connections }: Storage & Tenancy & Brokers,
  later: () => MutualParts,
) {
  const { limits } = config;
  const guard = createAddressGuard({ allowPrivate: config.allowPrivateDestinations, ownAddresses: listOwnAddresses });
  const certificates = createNotedCertificates(clock);
  const client = openHttpClient({
    certificates,
    guard,
    allowHttp: config.allowHttpDestinations,
    clock,
    maxSockets: limits.maxSockets,
    connectionsPerHost: limits.connectionsPerHost,
    idleConnectionsPerHost: limits.idleConnectionsPerHost,
    proxy: config.egressProxy === undefined ? undefined : parseEgressProxy(config.egressProxy),
  });
  parts.add(() => client.close());
  const credentials = createRequestCredentials(secretBox);
  const ownUrls = createOwnUrls({
    publicUrl: config.publicUrl,
    host: config.host,
    port: config.port,
    listAddresses: listOwnAddresses,
  });
  const checkDestination = (url: string, field?: string) =>
    void parseDestination(url, { allowHttp: config.allowHttpDestinations, guard }, field);
  const templates = openTemplates();
  parts.add(() => templates.close());
  const kinds = createDestinationKinds(options.destinationKinds);
  const senders = openSenders(kinds, {
    client,
    clock,
    userAgent: config.userAgent,
    publicHost: config.publicUrl === undefined ? hostname() : new URL(config.publicUrl).host,
    checkUrl: checkDestination,
    findOwnUrlProblem: ownUrls.findProblem,
    openCredentials: credentials.open,
    findForward: (fallback) => later().subscriptions.findForward(fallback),
    connections,
    templates,
    messageKey: config.messageKey,
    smtp: config.smtp,
    sms: config.sms,
    batchDir: config.batchDir,
    origin: store.info.id,
    warn: ({ name }, reason) => logger.warn({ subscription: name, reason }, "deliveries reach nobody"),
  });
  const tracing = findTracing(logger);
  if (tracing !== undefined) parts.add(() => flushSpans(tracing, clock));
  const found = tracing === undefined ? senders : traceSenders(senders, tracing);
  const dispatch = createDispatch({ senders: found, store, clock, onFault: logFault });
  return {
    tracing,
    client,
    certificates,
    credentials,
    ownUrls,
    kinds,
    templates,
    senders,
    dispatch,
    checkDestination,
  };
}

/** No longer than this: a collector that does not answer must not keep the gateway from stopping. */
const FLUSH_MS = 2000;

async function flushSpans(tracing: Tracing, clock: Clock): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => (timer = clock.setTimer(clock.now() + FLUSH_MS, resolve)));
  await Promise.race([tracing.flush(), late]);
  timer?.cancel();
}

function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
