import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { verify } from "../../../sdk/src/index.ts";
import type { Story } from "../../support/example.ts";

/** Somebody who takes the dairy's webhooks, with a secret that they had long before. */
export interface Partner {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  /** What it took, by the ids of the events. */
  readonly taken: readonly string[];
  /** How many were turned away because their signature was wrong. */
  readonly forged: number;
  /** Every User-Agent that it has seen. */
  readonly userAgents: ReadonlySet<string>;
}

export interface PartnerOptions {
  name: string;
  secret: string;
  /** It takes so long for each. */
  slowMs?: number;
  /** It answers everything so, without a look at it. */
  brokenStatus?: number;
}

export async function openPartner({ world }: Story, options: PartnerOptions): Promise<Partner> {
  const { name, secret, slowMs = 0, brokenStatus } = options;
  const taken: string[] = [];
  const userAgents = new Set<string>();
  let forged = 0;

  async function answer(request: IncomingMessage, body: Buffer): Promise<number> {
    userAgents.add(request.headers["user-agent"] ?? "");
    if (brokenStatus !== undefined) return brokenStatus;
    try {
      // The header that it knows, and the one of Standard Webhooks that came later.
      await verify(body, request.headers, secret, { scheme: "plain" });
      const { id } = await verify(body, request.headers, secret, { scheme: "standard" });
      await wait(slowMs);
      taken.push(id ?? "");
      return 200;
    } catch {
      forged++;
      return 401;
    }
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      void answer(request, Buffer.concat(parts)).then((status) => response.writeHead(status).end());
    });
  });
  const listening = new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await world.own(name, listening, async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    name,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    secret,
    taken,
    get forged() {
      return forged;
    },
    userAgents,
  };
}
