import { findIdentityFault, loadOptional, openByString, openIdentity } from "../azure.ts";
import { BrokerFault, createFaults, DECLARE, findNetworkTrouble, firstLine } from "../broker-fault.ts";

/** The address of an Azure Storage account, and the credentials for it. */
export type StorageAccount =
  | { connectionString: string }
  /** `https://NAME.queue.core.windows.net`; `DefaultAzureCredential` finds the identity. */
  | { accountUrl: string };

/** Retries inside the package, within one call: longer waits are the store's task. */
const RETRY_OPTIONS = { maxTries: 2, tryTimeoutInMs: 30_000, retryDelayInMs: 200, maxRetryDelayInMs: 1000 };

export async function openQueueService(account: StorageAccount) {
  const { QueueServiceClient } = await loadOptional("@azure/storage-queue", () => import("@azure/storage-queue"));
  const options = { retryOptions: RETRY_OPTIONS };
  if ("accountUrl" in account) return new QueueServiceClient(account.accountUrl, await openIdentity(), options);
  return openByString("Azure Storage", () =>
    QueueServiceClient.fromConnectionString(account.connectionString, options),
  );
}

export async function openBlobService(account: StorageAccount) {
  const { BlobServiceClient } = await loadOptional("@azure/storage-blob", () => import("@azure/storage-blob"));
  const options = { retryOptions: RETRY_OPTIONS };
  if ("accountUrl" in account) {
    const url = account.accountUrl.replace(".queue.", ".blob.");
    return new BlobServiceClient(url, await openIdentity(), options);
  }
  return openByString("Azure Storage", () => BlobServiceClient.fromConnectionString(account.connectionString, options));
}

/** For people: does not contain a key. */
export function describeAccount(account: StorageAccount): string {
  if ("accountUrl" in account) return new URL(account.accountUrl).host;
  const field = (name: string) => new RegExp(`(?:^|;)${name}=([^;]*)`, "i").exec(account.connectionString)?.[1];
  return field("QueueEndpoint")?.replace(/^https?:\/\//, "") ?? field("AccountName") ?? "an unnamed account";
}

/** For valid credentials that lack a right. */
const NOT_ALLOWED = /^Authorization(?:Permission|ResourceType|Service)Mismatch$/;

/** `place`: the account's address. */
export function toStorageFault(error: unknown, place: string): BrokerFault {
  if (error instanceof BrokerFault) return error;
  const broker = `Azure Storage at ${place}`;
  const fault = createFaults(broker);
  const { statusCode, code } = error as { statusCode?: number; code?: string };
  const trouble = findNetworkTrouble(error);
  if (code === "MessageNotFound" || code === "PopReceiptMismatch") {
    return fault("lost", "has given the message to another receiver.");
  }
  if (trouble !== undefined) return fault("unreachable", `cannot be reached: ${trouble}.`);
  const identityFault = findIdentityFault(error, broker);
  if (identityFault !== undefined) return identityFault;
  if (statusCode === 403 && code !== undefined && NOT_ALLOWED.test(code)) {
    return fault(
      "not_allowed",
      `does not allow it (${code}); give the shared access signature or the identity that right: read, add, update and ` +
        "process on queues, and create for `posthorn queue declare`.",
    );
  }
  if (statusCode === 401 || statusCode === 403) {
    return fault(
      "wrong_credentials",
      `refuses the credentials (${code ?? statusCode}); correct the connection string, or give the identity the right ` +
        "to use the account's queues and blobs.",
    );
  }
  if (statusCode === 404) return fault("not_found", `cannot find it (${code ?? "404"}). ${DECLARE}`);
  if (statusCode === 413) return fault("too_large", "does not accept messages of this size.");
  if (statusCode === undefined || statusCode >= 500) {
    return fault("unreachable", `gave an unexpected answer: ${firstLine(error)}`);
  }
  return fault("refused", `refuses: ${firstLine(error)}`);
}
