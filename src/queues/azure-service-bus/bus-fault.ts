import { BrokerFault, findIdentityFault, findNetworkTrouble, firstLine } from "../broker-fault.ts";

/** The package's errors: with text over AMQP, with a status too over HTTP. */
interface BusError extends Error {
  code?: string;
  statusCode?: number;
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
  const { code, statusCode } = (error ?? {}) as BusError;
  const trouble = findNetworkTrouble(error);
  if (code === "MessageLockLost" || code === "SessionLockLost") {
    return new BrokerFault("lost", `Azure Service Bus at ${place} has given the message to another receiver.`);
  }
  const identityFault = findIdentityFault(error, `Azure Service Bus at ${place}`);
  if (identityFault !== undefined) return identityFault;
  if (WRONG.includes(code) || statusCode === 401 || statusCode === 403) {
    const claims = MISSING_CLAIMS.exec(firstLine(error))?.[1];
    if (claims !== undefined) {
      return new BrokerFault(
        "not_allowed",
        `Azure Service Bus at ${place} does not allow it: the connection string's policy lacks ${claims}. Give it that ` +
          "right, or use a policy that has it.",
      );
    }
    return new BrokerFault(
      "wrong_credentials",
      `Azure Service Bus at ${place} refuses the credentials; correct the connection string, or give the identity the ` +
        "right to send, listen and (for declare, check and depth) manage.",
    );
  }
  if (MISSING.includes(code) || statusCode === 404) {
    return new BrokerFault(
      "not_found",
      `Azure Service Bus at ${place} has no queue ${findEntity(error)}. Create it with \`posthorn queue declare\`.`,
    );
  }
  if (code === "MessageSizeExceeded") {
    return new BrokerFault("too_large", `Azure Service Bus at ${place} does not accept messages of this size.`);
  }
  if (trouble !== undefined || UNREACHABLE.includes(code) || isOfClosedLink(error)) {
    const why = trouble ?? (firstLine(error) || "it does not answer");
    return new BrokerFault("unreachable", `Azure Service Bus at ${place} cannot be reached: ${why}.`);
  }
  return new BrokerFault("refused", `Azure Service Bus at ${place} refuses: ${firstLine(error)}`);
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
