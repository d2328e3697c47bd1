import type { CustomFetch } from "openid-client";
import type { HttpClient, HttpResult } from "../../../destinations/wire/http-client.ts";
import { parseUrl } from "../../../model/addresses.ts";

export interface GuardedFetchOptions {
  issuer: URL;
  /** The operator named the issuer, so it may be on a private network. */
  issuerClient: Pick<HttpClient, "request">;
  /** The issuer names other hosts, so they may be reached only like the destinations of deliveries. */
  client: Pick<HttpClient, "request">;
  timeoutMs: number;
}

/** A `TypeError`, because openid-client passes only these on as they are. */
export class UnreachableProvider extends TypeError {
  override readonly name = "UnreachableProvider";
}

/** Lists of keys are longer than what is kept of other answers. */
const KEPT_BYTES = 64 * 1024;

/** `fetch` for openid-client over the gateway's own client, which checks addresses. Follows no redirects. */
export function createGuardedFetch({ issuer, issuerClient, client, timeoutMs }: GuardedFetchOptions): CustomFetch {
  return async (href, { method, headers, body }) => {
    const url = parseUrl(href);
    if (url === undefined) throw new UnreachableProvider(`${JSON.stringify(href)} is not a URL`);
    if (url.protocol !== "https:" && url.protocol !== issuer.protocol) {
      throw new UnreachableProvider(`${url.origin} is not https`);
    }
    const by = url.origin === issuer.origin ? issuerClient : client;
    const text = body instanceof URLSearchParams ? body.toString() : body;
    if (text !== undefined && text !== null && typeof text !== "string") {
      throw new UnreachableProvider("the body of a request to the provider is not text");
    }
    const request = {
      method,
      url,
      headers,
      body: Buffer.from(text ?? ""),
      timeoutMs,
      maxRedirects: 0,
      keptBytes: KEPT_BYTES,
    };
    const result = await new Promise<HttpResult>((resolve) => by.request(request, resolve));
    if (result.kind !== "response") throw new UnreachableProvider(`${url.origin}: ${result.error}`);
    const hasBody = result.status !== 204 && result.status !== 205 && result.status !== 304;
    return new Response(hasBody ? Buffer.from(result.body) : null, { status: result.status, headers: result.headers });
  };
}
