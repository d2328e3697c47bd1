import { afterEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../../src/destinations/wire/address-guard.ts";
import { openHttpClient } from "../../../../src/destinations/wire/http-client.ts";
import { createKnownCertificates } from "../../../../src/destinations/wire/guarded-connect.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { SERVER_PAIR, TEST_CA } from "../../../support/certificates.ts";
import { openSinkServer } from "../../../support/sink-server.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

describe("certificates of destinations", () => {
  it("are recorded by host with their end when a connection is made", async () => {
    const clock = createSystemClock();
    const certificates = createKnownCertificates(clock);
    const sink = await openSinkServer({ tls: SERVER_PAIR });
    opened.push(sink);
    const client = openHttpClient({
      guard: createAddressGuard({ allowPrivate: ["127.0.0.1/32"] }),
      allowHttp: true,
      clock,
      tls: { ca: TEST_CA },
      certificates,
    });
    opened.push(client);
    const url = sink.url.replace("127.0.0.1", "localhost");
    const request = { method: "POST", url, headers: {}, body: Buffer.from("{}"), timeoutMs: 10_000 };
    const result = await new Promise<{ kind: string }>((resolve) => client.request(request, resolve));
    expect(result.kind).toBe("response");
    expect(certificates.list()).toEqual([{ host: new URL(url).host, notAfter: Date.UTC(2120, 0, 1) }]);
  });

  it("are looked at again after a while, and those of the most recent hosts are kept", () => {
    let now = 0;
    let looks = 0;
    const certificates = createKnownCertificates({ now: () => now });
    const show = (host: string, end: number) =>
      certificates.record(host, {
        getPeerCertificate: () => {
          looks++;
          return { valid_to: new Date(end).toUTCString() } as never;
        },
      });
    show("a.example", 1000);
    show("a.example", 5000);
    expect([looks, certificates.list()]).toEqual([1, [{ host: "a.example", notAfter: 1000 }]]);
    now = 600_000;
    show("a.example", 5000);
    expect(certificates.list()).toEqual([{ host: "a.example", notAfter: 5000 }]);
    for (let n = 0; n < 10_000; n++) show(`host-${n}.example`, 1000);
    expect(certificates.list()).toHaveLength(10_000);
    expect(certificates.list().some(({ host }) => host === "a.example")).toBe(false);
  });
});
