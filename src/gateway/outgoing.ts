import { networkInterfaces } from "node:os";
import { createAddressGuard } from "../deliver/wire/address-guard.ts";
import { parseDestination } from "../deliver/destination.ts";
import { openHttpClient } from "../deliver/wire/http-client.ts";
import { createLocalDispatch } from "../deliver/local-dispatch.ts";
import { createOwnUrls } from "../deliver/wire/own-urls.ts";
import { parseEgressProxy } from "../deliver/wire/proxy-tunnel.ts";
import { createDestinationKinds } from "../deliver/senders/kinds.ts";
import { openSenders } from "../deliver/senders/open-senders.ts";
import { createRequestCredentials } from "../registry/secret-box.ts";
import type { Brokers } from "./brokers.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** All that leaves the gateway goes through here. */
export type Outgoing = ReturnType<typeof openOutgoing>;

export function openOutgoing(
  { config, options, logger, parts }: Start,
  { store, clock, secretBox, connections }: Storage & Tenancy & Brokers,
) {
  const { limits } = config;
  const guard = createAddressGuard({ allowPrivate: config.allowPrivateDestinations, ownAddresses: listOwnAddresses });
  const client = openHttpClient({
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
  const kinds = createDestinationKinds(options.destinationKinds);
  const senders = openSenders(kinds, {
    client,
    clock,
    userAgent: config.userAgent,
    checkUrl: checkDestination,
    findOwnUrlProblem: ownUrls.findProblem,
    openCredentials: credentials.open,
    connections,
    messageKey: config.messageKey,
    origin: store.info.id,
    warn: ({ name }, reason) => logger.warn({ subscription: name, reason }, "deliveries reach nobody"),
  });
  const dispatch = createLocalDispatch({ senders, store, clock });
  return { client, credentials, ownUrls, kinds, senders, dispatch, checkDestination };
}

function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
