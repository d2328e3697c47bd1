import { BrokerFault, firstLine, loadOptional } from "../broker-fault.ts";

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
  if ("accountUrl" in account) return new QueueServiceClient(account.accountUrl, await findIdentity(), options);
  return parse(() => QueueServiceClient.fromConnectionString(account.connectionString, options));
}

export async function openBlobService(account: StorageAccount) {
  const { BlobServiceClient } = await loadOptional("@azure/storage-blob", () => import("@azure/storage-blob"));
  const options = { retryOptions: RETRY_OPTIONS };
  if ("accountUrl" in account) {
    const url = account.accountUrl.replace(".queue.", ".blob.");
    return new BlobServiceClient(url, await findIdentity(), options);
  }
  return parse(() => BlobServiceClient.fromConnectionString(account.connectionString, options));
}

async function findIdentity() {
  const { DefaultAzureCredential } = await loadOptional("@azure/identity", () => import("@azure/identity"));
  return new DefaultAzureCredential();
}

function parse<Client>(read: () => Client): Client {
  try {
    return read();
  } catch (error) {
    // The package may repeat parts of the connection string in its message: only its first words are safe to show.
    const why = firstLine(error).split(/[:;]/)[0];
    throw new BrokerFault("wrong_credentials", `The connection string of Azure Storage cannot be used: ${why}.`);
  }
}

/** For people: does not contain a key. */
export function describeAccount(account: StorageAccount): string {
  if ("accountUrl" in account) return new URL(account.accountUrl).host;
  const field = (name: string) => new RegExp(`(?:^|;)${name}=([^;]*)`, "i").exec(account.connectionString)?.[1];
  return field("QueueEndpoint")?.replace(/^https?:\/\//, "") ?? field("AccountName") ?? "an unnamed account";
}
