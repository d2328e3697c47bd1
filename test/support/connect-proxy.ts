import { createServer, connect, type AddressInfo, type Socket } from "node:net";

/** An HTTP proxy on loopback that knows CONNECT only, and leads wherever the test says. */
export interface ConnectProxy {
  readonly url: string;
  readonly port: number;
  /** What was asked for, in order. */
  readonly asked: readonly { authority: string; authorization: string | undefined }[];
  close(): Promise<void>;
}

/** A port of loopback to be connected with, or bytes to answer and end with; "hang" for nothing at all. */
export type ProxyScript = (authority: string) => number | string;

export async function openConnectProxy(script: ProxyScript): Promise<ConnectProxy> {
  const asked: { authority: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    keep(client);
    let head = "";
    client.on("data", function read(chunk: Buffer) {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      client.off("data", read);
      const authority = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? "";
      asked.push({ authority, authorization: /^proxy-authorization: (.*)$/im.exec(head)?.[1] });
      const answer = script(authority);
      if (answer === "hang") return;
      if (typeof answer === "string") return void client.end(answer);
      const upstream = keep(connect(answer, "127.0.0.1"));
      upstream.once("connect", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(upstream).pipe(client);
      });
      upstream.once("close", () => client.destroy());
      client.once("close", () => upstream.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
