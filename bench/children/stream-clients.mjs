// Clients of the live stream, over raw sockets: each counts its events, and the last one measures how old they are.
import { connect } from "node:net";
import { describeLatencies } from "../statistics.mjs";
import { answerWith } from "./answering.mjs";

const EVENT = Buffer.from("\nevent: event\n");
const RECEIVED_AT = /"received_at":"([^"]+)"/g;

let clients = [];
let lagsUs = [];

answerWith({
  async open({ port, path, authorization, count }) {
    clients = await Promise.all(
      Array.from({ length: count }, (_, i) => openClient({ port, path, authorization, isMeasured: i === count - 1 })),
    );
  },
  reset() {
    for (const client of clients) client.events = 0;
    lagsUs = [];
  },
  /** Resolves when each has so many events. */
  async reach(events) {
    while (clients.some((client) => client.events < events && !client.isClosed)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { dropped: clients.filter(({ isClosed }) => isClosed).length, ...describeLatencies(lagsUs) };
  },
  close() {
    for (const { socket } of clients) socket.destroy();
    clients = [];
  },
});

function openClient({ port, path, authorization, isMeasured }) {
  const socket = connect({ port, host: "127.0.0.1" });
  const client = { socket, events: 0, isClosed: false };
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: ${authorization}\r\n\r\n`);
  socket.on("error", () => socket.destroy()).on("close", () => (client.isClosed = true));
  return new Promise((resolve) => {
    let rest = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      if (bytes.includes("event: ready")) resolve(client);
      let at = 0;
      for (let found = bytes.indexOf(EVENT); found >= 0; found = bytes.indexOf(EVENT, at)) {
        client.events += 1;
        at = found + EVENT.length;
      }
      // What may be the beginning of the next one.
      rest = bytes.subarray(Math.max(at, bytes.length - EVENT.length + 1));
      if (!isMeasured) return;
      const now = Date.now();
      for (const [, time] of chunk.toString("latin1").matchAll(RECEIVED_AT))
        lagsUs.push((now - Date.parse(time)) * 1000);
    });
  });
}
