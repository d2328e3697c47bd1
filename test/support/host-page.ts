import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Another site on loopback, whose page shows an address in a frame. */
export interface HostPage {
  origin: string;
  /** The address of its page with this in the frame. */
  showing(url: string): string;
  close(): Promise<void>;
}

/** `localhost` and `127.0.0.1` are different sites for a browser. */
export async function openHostPage(name: "localhost" | "127.0.0.1"): Promise<HostPage> {
  const server = createServer((request, response) => {
    const framed = new URL(request.url ?? "/", "http://host").searchParams.get("framed") ?? "";
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><html lang="en"><title>Host</title><h1>Host</h1>
<iframe title="Webhooks" width="1000" height="800" src="${framed.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"></iframe>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://${name}:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    showing: (url) => `${origin}/?framed=${encodeURIComponent(url)}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
