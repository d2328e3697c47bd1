import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { createPosthorn, PosthornApiError, type Posthorn, type PosthornOptions } from "../../sdk/src/index.ts";
import { openFaultyProxy, type FaultyProxy } from "./faulty-proxy.ts";
import { openSinkServer, type SinkServer } from "./sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "./test-gateway.ts";

/** A gateway behind a proxy that lets things go wrong, and clients of the SDK: one for all tests of a file. */
export interface SdkWorld {
  readonly gateway: TestGateway;
  readonly proxy: FaultyProxy;
  readonly sink: SinkServer;
  readonly posthorn: Posthorn;
  connect(options?: Partial<PosthornOptions>): Posthorn;
}

export function useSdkWorld(): SdkWorld {
  let parts: Omit<SdkWorld, "connect" | "posthorn">;
  let posthorn: Posthorn;

  function connect(options: Partial<PosthornOptions> = {}): Posthorn {
    const retry = { minDelayMs: 1, maxDelayMs: 1000 };
    return createPosthorn({ url: parts.proxy.url, key: ADMIN_KEY, retry, ...options });
  }

  beforeAll(async () => {
    const [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    parts = { gateway, sink, proxy: await openFaultyProxy(() => gateway.url) };
    posthorn = connect();
  });
  afterAll(async () => {
    await parts.proxy.close();
    await Promise.all([parts.gateway.close(), parts.sink.close()]);
  });
  beforeEach(() => parts.proxy.doWith(() => "pass"));

  return {
    connect,
    get gateway() {
      return parts.gateway;
    },
    get proxy() {
      return parts.proxy;
    },
    get sink() {
      return parts.sink;
    },
    get posthorn() {
      return posthorn;
    },
  };
}

export async function apiErrorOf(result: Promise<unknown>): Promise<PosthornApiError> {
  const error = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PosthornApiError);
  return error as PosthornApiError;
}

/** A `fetch` that changes requests on their way out. */
export function changing(change: (init: RequestInit & { headers: Record<string, string> }) => void): typeof fetch {
  return (input, init) => {
    const changed = { ...init, headers: { ...(init?.headers as Record<string, string>) } };
    change(changed);
    return fetch(input, changed);
  };
}

let number = 0;

export function freshName(prefix: string): string {
  return `${prefix}${number++}`;
}
