import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { createConnectionGate, type ConnectionGateOptions } from "../../../src/api/connection-gate.ts";
import { until } from "../../support/api-client.ts";
import { SERVER_PAIR, TEST_CA, type KeyPair } from "../../support/certificates.ts";
import { openRawSocket, type RawSocket } from "../../support/raw-socket.ts";

const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

describe("the gate of connections", () => {
  const opened: { destroy(): void }[] = [];
  let server: Server | undefined;
  afterEach(async () => {
    for (const socket of opened.splice(0)) socket.destroy();
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
    server = undefined;
  });

  async function listen(options: Partial<ConnectionGateOptions>, tls?: KeyPair) {
    const closed: string[] = [];
    const held: ServerResponse[] = [];
    const gate = createConnectionGate({
      maxConnections: 100,
      maxPerAddress: 100,
      isExempt: () => false,
      onClosed: (why) => closed.push(why),
      now: () => performance.now(),
      ...options,
    });
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      gate.noteRequest(request.socket);
      if (request.url === "/held") held.push(response);
      else response.end("ok");
    };
    server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
    gate.watch(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const open = async (): Promise<RawSocket> => {
      const socket = await openRawSocket(port);
      opened.push(socket);
      return socket;
    };
    return { port, open, closed, held };
  }

  async function ask(socket: RawSocket): Promise<number> {
    socket.write(GET);
    return (await socket.answer()).status;
  }

  it("counts for each address: one that holds many loses its own idlest, nobody else's", async () => {
    let isExempt = true;
    const { open, closed } = await listen({ maxPerAddress: 3, isExempt: () => isExempt });
    const exempt: RawSocket[] = [];
    for (let n = 0; n < 5; n++) exempt.push(await open());
    for (const socket of exempt) expect(await ask(socket)).toBe(200);
    expect(closed).toEqual([]);
    isExempt = false;
    const own: RawSocket[] = [];
    for (let n = 0; n < 4; n++) {
      own.push(await open());
      expect(await ask(own[n] as RawSocket)).toBe(200);
    }
    await own[0]?.closed();
    expect(closed).toEqual(["evicted_for_address"]);
    for (const socket of [...exempt, ...own.slice(1)]) expect(await ask(socket)).toBe(200);
  });

  it("turns an address away that has all it may have in use, and counts what has gone no more", async () => {
    const { open, closed, held } = await listen({ maxPerAddress: 2 });
    const busy = [await open(), await open()];
    for (const socket of busy) socket.write(GET.replace("/", "/held"));
    await until(() => held.length === 2);
    await (await open()).closed();
    expect(closed).toEqual(["refused_for_address"]);
    for (const response of held) response.end("late");
    for (const socket of busy) expect((await socket.answer()).text).toBe("late");
    busy[0]?.destroy();
    await until(async () => {
      const socket = await open();
      return (await ask(socket).catch(() => 0)) === 200;
    });
  });

  it("evicts in the order of their last use, over more than one look", async () => {
    const { open, closed } = await listen({ maxConnections: 4 });
    const sockets: RawSocket[] = [];
    for (let n = 0; n < 4; n++) {
      sockets.push(await open());
      expect(await ask(sockets[n] as RawSocket)).toBe(200);
    }
    // The first becomes the one that was used last.
    expect(await ask(sockets[0] as RawSocket)).toBe(200);
    for (let n = 1; n < 4; n++) {
      expect(await ask(await open())).toBe(200);
      await sockets[n]?.closed();
    }
    expect(await ask(sockets[0] as RawSocket)).toBe(200);
    expect(closed).toEqual(["evicted", "evicted", "evicted"]);
  });

  it("knows behind TLS too which ones are in use", async () => {
    const { port, closed, held } = await listen({ maxConnections: 2 }, SERVER_PAIR);
    const open = async () => {
      const socket = connectTls({ port, host: "127.0.0.1", ca: TEST_CA });
      opened.push(socket);
      socket.on("error", () => undefined);
      await once(socket, "secureConnect");
      return socket;
    };
    const busy = await open();
    busy.write(GET.replace("/", "/held"));
    await until(() => held.length === 1);
    const idle = await open();
    const idleEnds = new Promise((resolve) => idle.once("close", resolve));
    idle.resume();
    const third = await open();
    await idleEnds;
    expect(closed).toEqual(["evicted"]);
    third.write(GET);
    expect(String((await once(third, "data"))[0])).toContain("200 OK");
    held[0]?.end("late");
    expect(String((await once(busy, "data"))[0])).toContain("late");
  });
});
