import { PosthornError } from "../../domain/errors.ts";
import { parseUrl } from "../../domain/parse-url.ts";
import type { HttpClient } from "./http-client.ts";

const TIMEOUT_MS = 5000;
const NOTHING = new Uint8Array(0);
const HEADERS = { accept: "*/*", "user-agent": "Posthorn" };

/** Small texts from elsewhere, such as certificates. That one cannot be had is our own trouble: whoever waits may retry. */
export function createFetchText(client: Pick<HttpClient, "request">): (url: string) => Promise<string> {
  return (url) =>
    new Promise((resolve, reject) => {
      const request = { method: "GET", url, headers: HEADERS, body: NOTHING, timeoutMs: TIMEOUT_MS, maxRedirects: 0 };
      client.request(request, (result) => {
        if (result.kind === "response" && result.status === 200) {
          return resolve(Buffer.from(result.body).toString("utf8"));
        }
        const reason = result.kind === "response" ? `it answered ${result.status}` : result.error;
        const message = `What is needed from ${hostOf(url)} could not be fetched (${reason}).`;
        reject(new PosthornError("unavailable", message, { retryAfterS: 30 }));
      });
    });
}

function hostOf(url: string): string {
  return parseUrl(url)?.host ?? "an address that is none";
}
