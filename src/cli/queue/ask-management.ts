import type { AskManagement } from "../../queues/amqp/management.ts";
import { createAddressGuard } from "../../destinations/wire/address-guard.ts";
import { openHttpClient } from "../../destinations/wire/http-client.ts";
import type { Clock } from "../../model/clock.ts";

const TIMEOUT_MS = 10_000;
const NOTHING = new Uint8Array(0);

/** The operator names the broker in the configuration, so it may be on a private network. Redirects are refused. */
export function openManagement(clock: Clock): { ask: AskManagement; close(): Promise<void> } {
  const client = openHttpClient({ guard: createAddressGuard({ allowPrivate: true }), allowHttp: true, clock });
  return {
    ask: (url, authorization) =>
      new Promise((resolve, reject) => {
        const headers = { accept: "application/json", authorization, "user-agent": "Posthorn" };
        const request = { method: "GET", url, headers, body: NOTHING, timeoutMs: TIMEOUT_MS, maxRedirects: 0 };
        client.request(request, (result) => {
          if (result.kind !== "response") return reject(new Error(result.error));
          return resolve({ status: result.status, text: Buffer.from(result.body).toString("utf8") });
        });
      }),
    close: () => client.close(),
  };
}
