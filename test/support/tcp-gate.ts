import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Stands before a service on loopback and lets bytes through, or not: for what a network does. */
export interface TcpGate {
  readonly port: number;
  /** Bytes pass again, and connections are taken again. */
  open(): Promise<void>;
  /** Connections stay and no byte passes, in either direction. */
  hold(): void;
  /** Connections are cut, and none is taken. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export async function openTcpGate(toPort: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let isHeld = false;
  let server: Server | undefined;
  let port = 0;

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    if (isHeld) socket.pause();
    return socket;
  }

  function take(client: Socket): void {
    const service = keep(connect(toPort, "127.0.0.1"));
    keep(client);
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      from.on("data", (bytes) => to.write(bytes));
      from.on("close", () => to.destroy());
    }
    if (isHeld) for (const socket of [client, service]) socket.pause();
  }

  async function listen(): Promise<void> {
    const listening = createServer(take);
    server = listening;
    // The port of a gate that was cut may be somebody else's by now.
    await new Promise<void>((resolve, reject) => {
      listening.once("error", reject);
      listening.listen(port, "127.0.0.1", resolve);
    });
    ({ port } = listening.address() as AddressInfo);
  }

  async function cut(): Promise<void> {
    const closing = server;
    server = undefined;
    for (const socket of sockets) socket.destroy();
    if (closing !== undefined) await new Promise<void>((resolve) => closing.close(() => resolve()));
  }

  await listen();
  return {
    get port() {
      return port;
    },
    async open() {
      isHeld = false;
      for (const socket of sockets) socket.resume();
      if (server === undefined) await listen();
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    cut,
    close: cut,
  };
}
