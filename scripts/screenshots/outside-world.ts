/** Who receives what the example gateway sends: every name of the internet leads to one server of this machine. */
import { Resolver } from "node:dns";
import { createChance } from "../../test/support/chance.ts";
import { openConnectProxy } from "../../test/support/connect-proxy.ts";
import { openMailServer } from "../../test/support/mail-server.ts";
import { startServiceBus } from "../../test/support/service-bus/server.ts";
import { openSinkServer, type SinkAnswer, type SinkRequest } from "../../test/support/sink-server.ts";
import { startSmartsheetServer } from "../../test/support/smartsheet-server.ts";

const PUBLIC_URL = "https://hooks.nordwind.example";
const SHEETS = {
  "4583173393803140": "Purchase orders",
  "2331373580117892": "Suppliers",
  "7036584820246404": "Returns",
};

export interface OutsideWorld {
  /** Lines of the yaml. */
  readonly settings: string;
  /** A destination answers differently from now on: by its host name. */
  answer(host: string, script: (request: SinkRequest) => SinkAnswer): void;
  /** How long the destinations take, for the caller that keeps the time. */
  onWork(pass: (ms: number) => void): void;
  /** Requests so far. */
  answered(): number;
  close(): Promise<void>;
}

export async function openOutsideWorld(): Promise<OutsideWorld> {
  const resolveNames = nameThisMachine();
  const chance = createChance(7);
  const scripts = new Map<string, (request: SinkRequest) => SinkAnswer>();
  let pass: (ms: number) => void = () => {};
  const sink = await openSinkServer({
    tls: true,
    answer(request) {
      pass(chance.isTrue(0.04) ? chance.whole(40, 160) : chance.whole(2, 14));
      const host = String(request.headers["host"]);
      return scripts.get(host)?.(request) ?? accept(request);
    },
  });
  const [proxy, mail, bus, smartsheet] = await Promise.all([
    openConnectProxy(() => sink.port),
    openMailServer(),
    startServiceBus(),
    startSmartsheetServer({ allowHttpCallbacks: true }),
  ]);
  fillQueue(bus.createQueue("orders"));
  const callbackUrl = `${PUBLIC_URL}/webhook/sheets`;
  const [known = "", unverified = ""] = Object.keys(SHEETS);
  smartsheet.addWebhook({
    name: "Purchase orders",
    scopeObjectId: known,
    callbackUrl,
    enabled: true,
    status: "ENABLED",
  });
  smartsheet.addWebhook({
    name: "Suppliers",
    scopeObjectId: unverified,
    callbackUrl,
    enabled: false,
    status: "NEW_NOT_VERIFIED",
  });
  const manifest = Object.entries(SHEETS).map(([id, name]) => `{ id: "${id}", name: ${name} }`);
  return {
    settings: `
egress_proxy: ${proxy.url}
public_url: ${PUBLIC_URL}
smtp: { url: "${mail.url}", from: Nordwind <orders@nordwind.example> }
servicebus_connection_string: "${bus.connectionString}"
smartsheet_access_token: ${smartsheet.token}
smartsheet_api_host: ${smartsheet.apiHost}
sources:
  - { name: orders-queue, kind: azure-service-bus, status: paused, options: { queue: orders } }
  - { name: sheets, kind: smartsheet, manifest: { sheets: [${manifest.join(", ")}] } }`,
    answer: (host, script) => void scripts.set(host, script),
    onWork: (tell) => void (pass = tell),
    answered: () => sink.requests.length,
    async close() {
      resolveNames();
      await Promise.all([sink.close(), proxy.close(), mail.close(), bus.stop(), smartsheet.close()]);
    },
  };
}

function accept({ path }: SinkRequest): SinkAnswer {
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body: path === "/health" ? '{"status":"ok"}' : '{"accepted":true}' };
}

/** Names of `.example` belong to nobody, and no server answers for them. The gateway does everything else itself. */
function nameThisMachine(): () => void {
  const { resolve4, resolve6 } = Resolver.prototype;
  const answer = (addresses: readonly object[]) =>
    function resolve(_name: string, _options: unknown, done: (error: null, found: readonly object[]) => void): void {
      setImmediate(done, null, addresses);
    };
  Object.assign(Resolver.prototype, {
    resolve4: answer([{ address: "127.0.0.1", ttl: 60 }]),
    resolve6: answer([]),
  });
  // The certificate of the one server is for none of these names.
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  return () => void Object.assign(Resolver.prototype, { resolve4, resolve6 });
}

function fillQueue(queue: ReturnType<Awaited<ReturnType<typeof startServiceBus>>["createQueue"]>): void {
  const faults = ["The body is not well-formed JSON.", "The body is larger than 2097152 bytes."];
  for (const n of [1, 2, 3, 4, 5]) {
    queue.deadLetters?.send({
      message_id: `order-${2040 + n}`,
      subject: "order.created",
      content_type: "application/json",
      application_properties: {
        DeadLetterReason: n % 3 === 0 ? "too_large" : "invalid",
        DeadLetterErrorDescription: faults[n % 3 === 0 ? 1 : 0],
      },
      body: `{"id": ${2040 + n}, `,
    });
  }
}
