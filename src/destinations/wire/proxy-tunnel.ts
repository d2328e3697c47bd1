import { connect, type LookupFunction, type Socket } from "node:net";
import { codedError, LOOKUP_FAULT, PROXY_FAULT } from "./network-fault.ts";

/** A tunnel through the egress proxy: CONNECT to an address that was checked before, never to a name. */

export interface EgressProxy {
  host: string;
  port: number;
  /** `Proxy-Authorization`, if the proxy requires it. */
  authorization: string | undefined;
}

const MAX_HEAD_BYTES = 16 * 1024;

/** `http://[user:password@]host:port`, already checked with the configuration. */
export function parseEgressProxy(text: string): EgressProxy {
  const url = new URL(text);
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 80 : Number(url.port),
    authorization: credentials === ":" ? undefined : `Basic ${Buffer.from(credentials, "utf8").toString("base64")}`,
  };
}

/** Calls `done` once; bytes after the proxy's answer stay on the socket. */
export function openTunnel(
  proxy: EgressProxy,
  to: { address: string; port: number; lookup: LookupFunction },
  done: (error: Error | null) => void,
): Socket {
  const socket = connect({ host: proxy.host, port: proxy.port, lookup: to.lookup, noDelay: true, keepAlive: true });
  let head = Buffer.alloc(0);
  let isConnected = false;
  let isDone = false;

  function finish(fault: string | undefined): void {
    if (isDone) return;
    isDone = true;
    socket.off("readable", read);
    if (fault === undefined) return done(null);
    socket.destroy();
    done(codedError(PROXY_FAULT, `egress proxy: ${fault}`));
  }

  function read(): void {
    for (;;) {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      head = Buffer.concat([head, chunk]);
      const endsAt = head.indexOf("\r\n\r\n");
      if (endsAt < 0 && head.length > MAX_HEAD_BYTES) return finish("its answer to CONNECT is too long");
      if (endsAt < 0) continue;
      const rest = head.subarray(endsAt + 4);
      if (rest.length > 0) socket.unshift(rest);
      return finish(findRefusal(head.subarray(0, endsAt).toString("latin1")));
    }
  }

  socket.on("error", (error: NodeJS.ErrnoException) =>
    finish(`${isConnected ? "the connection broke" : "no connection"} (${reasonOf(error)})`),
  );
  socket.once("close", () => finish("it closed the connection without an answer to CONNECT"));
  socket.once("connect", () => {
    isConnected = true;
    const authority = to.address.includes(":") ? `[${to.address}]:${to.port}` : `${to.address}:${to.port}`;
    const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
    if (proxy.authorization !== undefined) lines.push(`Proxy-Authorization: ${proxy.authorization}`);
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    socket.on("readable", read);
  });
  return socket;
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === undefined || code === LOOKUP_FAULT ? message : code;
}

function findRefusal(head: string): string | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(head.split("\r\n", 1)[0] ?? "")?.[1];
  if (status === undefined) return "its answer to CONNECT is not HTTP";
  if (status.startsWith("2")) return undefined;
  return status === "407" ? "it requires other credentials (407)" : `it answered CONNECT with ${status}`;
}
