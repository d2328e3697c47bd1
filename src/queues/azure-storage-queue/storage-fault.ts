import { BrokerFault, findIdentityFault, findNetworkTrouble, firstLine } from "../broker-fault.ts";

/** The errors of Azure Storage's packages. */
interface RestError extends Error {
  statusCode?: number;
  code?: string;
}

/** For valid credentials that lack a right. */
const NOT_ALLOWED = /^Authorization(?:Permission|ResourceType|Service)Mismatch$/;

/** `place`: the account's address. */
export function toStorageFault(error: unknown, place: string): BrokerFault {
  if (error instanceof BrokerFault) return error;
  const { statusCode, code } = error as RestError;
  const trouble = findNetworkTrouble(error);
  if (code === "MessageNotFound" || code === "PopReceiptMismatch") {
    return new BrokerFault("lost", `Azure Storage at ${place} has given the message to another receiver.`);
  }
  if (trouble !== undefined) {
    return new BrokerFault("unreachable", `Azure Storage at ${place} cannot be reached: ${trouble}.`);
  }
  const identityFault = findIdentityFault(error, `Azure Storage at ${place}`);
  if (identityFault !== undefined) return identityFault;
  if (statusCode === 403 && code !== undefined && NOT_ALLOWED.test(code)) {
    return new BrokerFault(
      "not_allowed",
      `Azure Storage at ${place} does not allow it (${code}); give the shared access signature or the identity that ` +
        "right: read, add, update and process on queues, and create for `posthorn queue declare`.",
    );
  }
  if (statusCode === 401 || statusCode === 403) {
    return new BrokerFault(
      "wrong_credentials",
      `Azure Storage at ${place} refuses the credentials (${code ?? statusCode}); correct the connection string, or ` +
        "give the identity the right to use the account's queues and blobs.",
    );
  }
  if (statusCode === 404) {
    return new BrokerFault(
      "not_found",
      `Azure Storage at ${place} cannot find it (${code ?? "404"}). Create it with \`posthorn queue declare\`.`,
    );
  }
  if (statusCode === 413) {
    return new BrokerFault("too_large", `Azure Storage at ${place} does not accept messages of this size.`);
  }
  if (statusCode === undefined || statusCode >= 500) {
    return new BrokerFault("unreachable", `Azure Storage at ${place} gave an unexpected answer: ${firstLine(error)}`);
  }
  return new BrokerFault("refused", `Azure Storage at ${place} refuses: ${firstLine(error)}`);
}
