import type { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";
import { findIdentityFault, loadOptional, openByString, openIdentity } from "../azure.ts";
import { BrokerFault, createFaults, DECLARE, findNetworkTrouble, firstLine } from "../broker-fault.ts";
import type { Reconnecting } from "../reconnecting.ts";
import type { Clock } from "../../model/clock.ts";

/** The address of an Azure Service Bus namespace, and the credentials for it. */
export type BusNamespace =
  | { connectionString: string }
  /** `NAME.servicebus.windows.net`; `DefaultAzureCredential` finds the identity. */
  | { namespace: string };

export interface OpenNamespace {
  client: ServiceBusClient;
  administration: ServiceBusAdministrationClient;
}

export type BusLink = Reconnecting<OpenNamespace>;

/** Retries inside the package, within one call: longer waits are the store's task. */
const RETRY_OPTIONS = { maxRetries: 1, retryDelayInMs: 200, timeoutInMs: 10_000 };
const EMULATOR = /(?:^|;)\s*UseDevelopmentEmulator\s*=\s*true/i;
const EMULATOR_PORT = "5300";

export async function openNamespace(where: BusNamespace): Promise<OpenNamespace> {
  const bus = await loadOptional("@azure/service-bus", () => import("@azure/service-bus"));
  const options = { retryOptions: RETRY_OPTIONS };
  if ("namespace" in where) {
    const identity = await openIdentity();
    return {
      client: new bus.ServiceBusClient(where.namespace, identity, options),
      administration: new bus.ServiceBusAdministrationClient(where.namespace, identity, options),
    };
  }
  const { connectionString } = where;
  return openByString("Azure Service Bus", () => {
    const client = new bus.ServiceBusClient(connectionString, options);
    const administration = new bus.ServiceBusAdministrationClient(connectionString, options);
    if (EMULATOR.test(connectionString)) useEmulator(administration);
    return { client, administration };
  });
}

/** The package manages queues over https only; Microsoft's emulator only offers http, on a separate port. */
function useEmulator(administration: ServiceBusAdministrationClient): void {
  administration.pipeline.addPolicy({
    name: "emulator",
    sendRequest(request, next) {
      const url = new URL(request.url);
      url.protocol = "http:";
      if (url.port === "") url.port = EMULATOR_PORT;
      request.url = url.href;
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
}

/** For people: does not contain a key. */
export function describeNamespace(where: BusNamespace): string {
  if ("namespace" in where) return where.namespace;
  return /(?:^|;)\s*Endpoint\s*=\s*sb:\/\/([^/;]*)/i.exec(where.connectionString)?.[1] ?? "an unnamed namespace";
}

/** For calls of packages that have no deadline, or a too long one. A later result is ignored. */
export async function withDeadline<Result>(call: Promise<Result>, withinMs: number, clock: Clock): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(clock.now() + withinMs, () => {
      reject(new BrokerFault("unreachable", `The broker has not answered within ${withinMs / 1000} seconds.`));
    });
    call.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** The package's own, which it does not show. */
interface Connection {
  once(event: "disconnected", listener: (context: { error?: unknown }) => void): unknown;
}

/** Those who wait for an answer, by connection. */
const waiting = new WeakMap<Connection, Set<(error: unknown) => void>>();

/**
 * Rejects as soon as the connection is cut. The package itself would wait for an answer until its own time is over,
 * although none can come any more.
 */
export async function whileConnected<Result>(client: ServiceBusClient, call: Promise<Result>): Promise<Result> {
  const context = (client as unknown as { _connectionContext?: { connection?: Connection } })._connectionContext;
  if (context?.connection === undefined) return call;
  const rejections = rejectionsOf(context.connection);
  return new Promise((resolve, reject) => {
    rejections.add(reject);
    call.then(resolve, reject).finally(() => rejections.delete(reject));
  });
}

function rejectionsOf(connection: Connection): Set<(error: unknown) => void> {
  const known = waiting.get(connection);
  if (known !== undefined) return known;
  const rejections = new Set<(error: unknown) => void>();
  waiting.set(connection, rejections);
  connection.once("disconnected", ({ error }) => {
    waiting.delete(connection);
    const cut = error ?? Object.assign(new Error("The connection was cut."), { code: "ECONNRESET" });
    for (const reject of rejections) reject(cut);
  });
  return rejections;
}

const UNREACHABLE: readonly unknown[] = ["ServiceCommunicationProblem", "ServiceTimeout", "ServiceBusy"];
const WRONG: readonly unknown[] = ["UnauthorizedAccess", "UnauthorizedRequestError"];
const MISSING: readonly unknown[] = ["MessagingEntityNotFound", "MessageEntityNotFoundError"];

/** For a policy that lacks a right: `Manage,EntityWrite claims required for this operation`. */
const MISSING_CLAIMS = /(?:^|[\s.])'?([A-Z][A-Za-z, ]*?)'? claim\S* (?:is |are )?required/;

/** `place`: the namespace's host. */
export function toBusFault(error: unknown, place: string): BrokerFault {
  if (error instanceof BrokerFault) return error;
  if (error instanceof AggregateError) return toBusFault(lastOf(error), place);
  const broker = `Azure Service Bus at ${place}`;
  const fault = createFaults(broker);
  // Over AMQP, errors have a text; over HTTP, a status too.
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  const trouble = findNetworkTrouble(error);
  if (code === "MessageLockLost" || code === "SessionLockLost") {
    return fault("lost", "has given the message to another receiver.");
  }
  const identityFault = findIdentityFault(error, broker);
  if (identityFault !== undefined) return identityFault;
  if (WRONG.includes(code) || statusCode === 401 || statusCode === 403) {
    const claims = MISSING_CLAIMS.exec(firstLine(error))?.[1];
    if (claims !== undefined) {
      const advice = "Give it that right, or use a policy that has it.";
      return fault("not_allowed", `does not allow it: the connection string's policy lacks ${claims}. ${advice}`);
    }
    return fault(
      "wrong_credentials",
      "refuses the credentials; correct the connection string, or give the identity the right to send, listen and (for " +
        "declare, check and depth) manage.",
    );
  }
  if (MISSING.includes(code) || statusCode === 404) {
    return fault("not_found", `has no queue ${findEntity(error)}. ${DECLARE}`);
  }
  if (code === "MessageSizeExceeded") return fault("too_large", "does not accept messages of this size.");
  if (trouble !== undefined || UNREACHABLE.includes(code) || isOfClosedLink(error)) {
    return fault("unreachable", `cannot be reached: ${trouble ?? (firstLine(error) || "it does not answer")}.`);
  }
  return fault("refused", `refuses: ${firstLine(error)}`);
}

/** `The messaging entity 'sb://HOST/QUEUE/$management' could not be found. …` */
function findEntity(error: unknown): string {
  const entity = /messaging entity '(?:[a-z]+:\/\/[^/']+\/)?([^']+)'/i.exec(firstLine(error))?.[1];
  return entity === undefined ? "of that name" : JSON.stringify(entity.replace("/$management", ""));
}

/** Where several tries failed, the last one shows the current state. */
function lastOf(error: unknown): unknown {
  return error instanceof AggregateError ? lastOf(error.errors.at(-1)) : error;
}

/** The client was closed while it was in use, because the connection was lost. Only the error's text says so. */
export function isOfClosedLink(error: unknown): boolean {
  return /(?:link|connection|receiver|sender|session).* closed/is.test(textOf(error));
}

/**
 * The package has tried again because its first try was not answered: the link was being closed meanwhile. That try may
 * have settled the message, or the message comes again. Only the error's text says so.
 */
export function isOfSettledMessage(error: unknown): boolean {
  return textOf(error).includes("already settled");
}

function textOf(error: unknown): string {
  const last = lastOf(error);
  return last instanceof Error ? last.message : "";
}
