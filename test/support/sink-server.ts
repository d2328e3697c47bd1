import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** A destination on loopback: records exactly what arrives and answers as it is told. */
export interface SinkServer {
  url: string;
  port: number;
  requests: readonly SinkRequest[];
  /** Connections accepted so far, and those open now. */
  accepted: () => number;
  open: () => number;
  answerWith(answer: SinkScript): void;
  /** Resolves when that many requests have come. */
  received(count: number): Promise<readonly SinkRequest[]>;
  /** Closes connections in the middle of whatever they are doing. */
  dropConnections(): void;
  close(): Promise<void>;
}

export interface SinkRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Flat and with the names as they were sent. */
  rawHeaders: readonly string[];
  body: Buffer;
  /** Which connection it came over, from 1. */
  connection: number;
  /** The name in the certificate that the client showed. */
  clientName: string | undefined;
}

export type SinkAnswer =
  | {
      status: number;
      headers?: Record<string, string | string[]>;
      body?: string | Uint8Array;
      delayMs?: number;
      /** Not before this is fulfilled. */
      after?: Promise<unknown>;
    }
  | { redirectTo: string; status?: number }
  /** Nothing, for ever. */
  | "hang"
  /** The connection is reset before an answer, or in the middle of one. */
  | "reset"
  | "reset in body"
  /** Orderly, but without an answer. */
  | "close"
  /** A byte now and then, without an end. */
  | "drip headers"
  | "drip body"
  /** As much as is taken, without an end. */
  | "flood"
  /** Bytes that are no HTTP. */
  | { garbage: string };

export type SinkScript = SinkAnswer | ((request: SinkRequest, index: number) => SinkAnswer);

export interface SinkOptions {
  answer?: SinkScript;
  tls?: boolean | ServerOptions;
  host?: string;
  /** Any free one when not given. */
  port?: number;
}

const DRIP_MS = 20;
const FLOOD_CHUNK = Buffer.alloc(16 * 1024, "x");

/** For `sink.test`, `localhost` and 127.0.0.1, valid until 2120, trusted by nobody else. */
export const SINK_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBczCCARigAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlzaW5rLnRl
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CXNpbmsudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCAOuCc+MZecgVwe
E3Wk2/G5AVKdhvPck/hOWTwQHEcwAvxIerZ20uYBjFE7FbH4Sc82S4ZlSnzC3Kba
yEEI/z2jWTBXMCUGA1UdEQQeMByCCXNpbmsudGVzdIIJbG9jYWxob3N0hwR/AAAB
MA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFHQjsZ7uzSkGWSNaeVj/EKqrl9Pm
MAoGCCqGSM49BAMCA0kAMEYCIQCRshPmyR0Cyu/uFj9wn1uo4E+NcB7H9nx/r9uv
tSJ7jwIhAOARLCQKU+tsxFlMWs6QAUMu/f6FaMDNseSXvxdAtOM8
-----END CERTIFICATE-----
`;
const SINK_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgK+ngt3oZNhqCV9/U
ynFcbWIvLJu5k5KfE4sBY7DTECihRANCAAQgDrgnPjGXnIFcHhN1pNvxuQFSnYbz
3JP4Tlk8EBxHMAL8SHq2dtLmAYxROxWx+EnPNkuGZUp8wtym2shBCP89
-----END PRIVATE KEY-----
`;

export async function openSinkServer(options: SinkOptions = {}): Promise<SinkServer> {
  const { tls = false, host = "127.0.0.1" } = options;
  let script: SinkScript = options.answer ?? { status: 200, body: "ok" };
  const requests: SinkRequest[] = [];
  const connections = new Map<Socket, number>();
  const timers = new Set<NodeJS.Timeout>();
  let accepted = 0;
  let waiters: { count: number; resolve: () => void }[] = [];

  const server =
    tls !== false
      ? createHttpsServer(tls === true ? { key: SINK_KEY, cert: SINK_CERTIFICATE } : tls)
      : createHttpServer();
  server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    incoming.on("error", () => {});
    response.on("error", () => {});
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const request: SinkRequest = {
        method: incoming.method ?? "",
        path: incoming.url ?? "",
        headers: incoming.headers,
        rawHeaders: incoming.rawHeaders,
        body: Buffer.concat(chunks),
        connection: connections.get(incoming.socket) ?? 0,
        clientName: nameOf(incoming.socket),
      };
      requests.push(request);
      waiters = waiters.filter(({ count, resolve }) => {
        if (requests.length >= count) resolve();
        return requests.length < count;
      });
      answer(typeof script === "function" ? script(request, requests.length - 1) : script, incoming.socket, response);
    });
  });
  server.on(tls !== false ? "secureConnection" : "connection", (socket: Socket) => {
    accepted += 1;
    connections.set(socket, accepted);
    socket.on("error", () => {});
    socket.on("close", () => connections.delete(socket));
  });
  // Handshakes that a client breaks off are part of the tests.
  server.on("tlsClientError", () => {});

  function every(ms: number, socket: Socket, run: () => void): void {
    const timer = setInterval(run, ms);
    timers.add(timer);
    socket.on("close", () => clearInterval(timer));
  }

  function answer(what: SinkAnswer, socket: Socket, response: ServerResponse): void {
    if (what === "hang") return;
    if (what === "reset") socket.resetAndDestroy();
    else if (what === "close") socket.end();
    else if (what === "reset in body") {
      response.writeHead(200, { "content-length": "1000" });
      response.write("half of it", () => socket.resetAndDestroy());
    } else if (what === "drip headers") {
      socket.write("HTTP/1.1 200 OK\r\n");
      every(DRIP_MS, socket, () => socket.write("x-more: 1\r\n"));
    } else if (what === "drip body") {
      response.writeHead(200);
      response.write("x");
      every(DRIP_MS, socket, () => response.write("x"));
    } else if (what === "flood") {
      response.writeHead(200);
      const flood = (): void => {
        while (!response.destroyed && response.write(FLOOD_CHUNK));
      };
      response.on("drain", flood);
      flood();
    } else if ("garbage" in what) socket.write(what.garbage);
    else if ("redirectTo" in what) {
      response.writeHead(what.status ?? 307, { location: what.redirectTo });
      response.end("elsewhere");
    } else {
      const finish = (): void => {
        response.writeHead(what.status, what.headers);
        response.end(what.body);
      };
      if (what.after !== undefined) void what.after.then(finish);
      else if (what.delayMs === undefined) finish();
      else timers.add(setTimeout(finish, what.delayMs));
    }
  }

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls !== false ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    requests,
    accepted: () => accepted,
    open: () => connections.size,
    answerWith(next) {
      script = next;
    },
    async received(count) {
      if (requests.length < count) await new Promise<void>((resolve) => waiters.push({ count, resolve }));
      return requests;
    },
    dropConnections() {
      for (const socket of connections.keys()) socket.destroy();
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function nameOf(socket: Socket): string | undefined {
  const subject = socket instanceof TLSSocket ? socket.getPeerCertificate().subject : undefined;
  return subject?.CN?.toString();
}
