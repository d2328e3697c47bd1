import type { TLSSocket } from "node:tls";
import type { Clock } from "../../model/clock.ts";

/** When the certificates of destinations expire. Only known for destinations connected to since the start. */
export interface NotedCertificates {
  note(host: string, socket: Pick<TLSSocket, "getPeerCertificate">): void;
  list(): readonly { host: string; notAfter: number }[];
}

/** A certificate rarely changes, and reading it takes longer than sending a request. */
const LOOK_AGAIN_MS = 600_000;
const MAX_HOSTS = 10_000;

export function createNotedCertificates(clock: Pick<Clock, "now">): NotedCertificates {
  const noted = new Map<string, { at: number; notAfter: number }>();

  return {
    note(host, socket) {
      const now = clock.now();
      const known = noted.get(host);
      if (known !== undefined && now < known.at + LOOK_AGAIN_MS) return;
      const notAfter = Date.parse(socket.getPeerCertificate().valid_to);
      if (Number.isNaN(notAfter)) return;
      // The least recently updated entry goes first.
      noted.delete(host);
      if (noted.size >= MAX_HOSTS) noted.delete(noted.keys().next().value as string);
      noted.set(host, { at: now, notAfter });
    },
    list: () => [...noted].map(([host, { notAfter }]) => ({ host, notAfter })),
  };
}
