import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands before a gateway, passes requests on, and lets go wrong what it is told to. */
export interface FaultyProxy {
  readonly url: string;
  readonly requests: readonly ProxiedRequest[];
  /** What becomes of each request from now on. */
  doWith(choose: (request: ProxiedRequest, index: number) => Fault): void;
  /** Cuts all connections. */
  cut(): void;
  close(): Promise<void>;
}

export interface ProxiedRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Fault =
  | "pass"
  /** It is carried out, and the connection is cut before its answer. */
  | "lose the answer"
  /** … or in the middle of its answer. */
  | "cut the answer"
  /** Nothing comes, for ever. */
  | "hang"
  /** Answered here, without the gateway. */
  | { status: number; headers?: Record<string, string>; body?: string };

export async function openFaultyProxy(toUrl: () => string): Promise<FaultyProxy> {
  const requests: ProxiedRequest[] = [];
  let choose: (request: ProxiedRequest, index: number) => Fault = () => "pass";
  let count = 0;

  function pass(request: ProxiedRequest, response: ServerResponse, fault: Fault): void {
    const headers = { ...request.headers, connection: "close" };
    const onward = forward(toUrl() + request.path, { method: request.method, headers, agent: false }, (answer) => {
      if (fault === "pass") {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("error", () => response.destroy()).pipe(response);
        return;
      }
      const chunks: Buffer[] = [];
      answer
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          if (fault === "cut the answer") {
            const body = Buffer.concat(chunks);
            response.writeHead(answer.statusCode ?? 502, { ...answer.headers, "content-length": String(body.length) });
            response.write(body.subarray(0, body.length / 2), () => response.destroy());
            return;
          }
          response.destroy();
        });
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    onward.end(request.body);
  }

  async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "GET", url = "/", headers } = incoming;
    const request = { method, path: url, headers, body: Buffer.concat(chunks).toString("utf8") };
    requests.push(request);
    const fault = choose(request, count++);
    if (fault === "hang") return;
    if (typeof fault === "string") return pass(request, response, fault);
    response.writeHead(fault.status, fault.headers).end(fault.body ?? "");
  }

  const server = createServer((incoming, response) => {
    take(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    doWith(chosen) {
      [choose, count] = [chosen, 0];
      requests.length = 0;
    },
    cut: () => server.closeAllConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
