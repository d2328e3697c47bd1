import { networkInterfaces } from "node:os";
import { createAddressGuard } from "../deliver/address-guard.ts";
import { parseDestination } from "../deliver/destination.ts";
import { openHttpClient } from "../deliver/http-client.ts";
import { createLocalDispatch } from "../deliver/local-dispatch.ts";
import { createOwnUrls } from "../deliver/own-urls.ts";
import { parseEgressProxy } from "../deliver/proxy-tunnel.ts";
import { openHttpSender } from "../deliver/senders/http.ts";
import { createRequestCredentials } from "../manage/request-credentials.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** All that leaves the gateway goes through here. */
export type Outgoing = ReturnType<typeof openOutgoing>;

export function openOutgoing({ config, parts }: Start, { store, clock, secretBox }: Storage & Tenancy) {
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
  const sender = openHttpSender({
    client,
    clock,
    userAgent: config.userAgent,
    openCredentials: credentials.open,
    findOwnUrlProblem: ownUrls.findProblem,
  });
  return {
    client,
    credentials,
    ownUrls,
    dispatch: createLocalDispatch({ senders: { http: sender }, store, clock }),
    checkDestination: (url: string, field?: string) =>
      void parseDestination(url, { allowHttp: config.allowHttpDestinations, guard }, field),
  };
}

function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
