// The administration of the Service Bus test server: queues as ATOM entries over HTTP.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { BusQueue, QueueSettings } from "./bus-queue.ts";
import { findPolicy, LIMITED_KEY_NAME } from "./signature.ts";

export interface Administered {
  readonly key: string;
  findQueue(name: string): BusQueue | undefined;
  createQueue(name: string, settings: QueueSettings): BusQueue;
  deleteQueue(name: string): void;
}

const DESCRIPTION = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect";
const COUNTS = "http://schemas.microsoft.com/netservices/2011/06/servicebus";

export function createAdministration(bus: Administered): Server {
  return createServer((request, response) => {
    readText(request).then(
      (body) => answer(bus, request, body, response),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  return text;
}

function answer(bus: Administered, request: IncomingMessage, body: string, response: ServerResponse): void {
  const name = decodeURIComponent((request.url ?? "/").slice(1).split("?")[0] ?? "");
  const policy = findPolicy(request.headers.authorization ?? "", bus.key);
  if (policy === undefined) {
    send(response, 401, "<Error><Code>401</Code><Detail>The token has an invalid signature.</Detail></Error>");
  } else if (policy === LIMITED_KEY_NAME) {
    const claims = request.method === "GET" ? "Manage,EntityRead" : "Manage,EntityWrite";
    const detail = `${claims} claims required for this operation. TrackingId:1, SystemTracker:test, Timestamp:now`;
    send(response, 401, `<Error><Code>401</Code><Detail>${detail}</Detail></Error>`);
  } else if (request.method === "PUT") {
    const known = bus.findQueue(name);
    if (known !== undefined && request.headers["if-match"] === undefined) {
      send(response, 409, "<Error><Code>409</Code><Detail>SubCode=40900. Conflict.</Detail></Error>");
      return;
    }
    send(response, 201, describe(bus.createQueue(name, readSettings(body))));
  } else if (request.method === "DELETE") {
    bus.deleteQueue(name);
    send(response, 200, "");
  } else {
    const queue = bus.findQueue(name);
    // That is how the service says that there is none.
    if (queue === undefined)
      send(response, 200, '<feed xmlns="http://www.w3.org/2005/Atom"><title>none</title></feed>');
    else send(response, 200, describe(queue));
  }
}

function send(response: ServerResponse, status: number, xml: string): void {
  response.writeHead(status, { "content-type": "application/atom+xml;type=entry;charset=utf-8" }).end(xml);
}

function readSettings(xml: string): QueueSettings {
  const read = (tag: string) => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1];
  const isDetecting = read("RequiresDuplicateDetection") === "true";
  return {
    lockMs: parseDuration(read("LockDuration") ?? "PT1M"),
    maxDeliveryCount: Number(read("MaxDeliveryCount") ?? 10),
    requiresSession: read("RequiresSession") === "true",
    duplicateDetectionMs: isDetecting ? parseDuration(read("DuplicateDetectionHistoryTimeWindow") ?? "PT10M") : 0,
  };
}

/** ISO 8601, as far as days, hours, minutes and seconds. */
function parseDuration(text: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text) ?? [];
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000;
}

function describe({ name, settings, deadLetters, counts }: BusQueue): string {
  const { active, scheduled } = counts();
  const dead = deadLetters?.counts().active ?? 0;
  const windowMs = settings.duplicateDetectionMs || 600_000;
  const fields: [string, unknown][] = [
    ["LockDuration", `PT${settings.lockMs / 1000}S`],
    ["MaxSizeInMegabytes", 1024],
    ["RequiresDuplicateDetection", settings.duplicateDetectionMs > 0],
    ["RequiresSession", settings.requiresSession],
    ["DefaultMessageTimeToLive", "P14D"],
    ["DeadLetteringOnMessageExpiration", false],
    ["DuplicateDetectionHistoryTimeWindow", `PT${windowMs / 1000}S`],
    ["MaxDeliveryCount", settings.maxDeliveryCount],
    ["EnableBatchedOperations", true],
    ["SizeInBytes", 0],
    ["MessageCount", active + scheduled + dead],
    ["Status", "Active"],
    ["CreatedAt", "2026-01-01T00:00:00Z"],
    ["UpdatedAt", "2026-01-01T00:00:00Z"],
    ["AccessedAt", "2026-01-01T00:00:00Z"],
    // The package insists on these.
    ["IsAnonymousAccessible", false],
    ["SupportOrdering", true],
    ["AutoDeleteOnIdle", "P10675199DT2H48M5.4775807S"],
    ["EnablePartitioning", false],
    ["EntityAvailabilityStatus", "Available"],
    ["EnableExpress", false],
  ];
  const numbers: [string, number][] = [
    ["ActiveMessageCount", active],
    ["DeadLetterMessageCount", dead],
    ["ScheduledMessageCount", scheduled],
    ["TransferMessageCount", 0],
    ["TransferDeadLetterMessageCount", 0],
  ];
  const counted = numbers.map(([tag, value]) => `<d2p1:${tag}>${value}</d2p1:${tag}>`).join("");
  return [
    '<entry xmlns="http://www.w3.org/2005/Atom">',
    `<id>http://localhost/${name}</id><title type="text">${name}</title>`,
    `<content type="application/xml"><QueueDescription xmlns="${DESCRIPTION}">`,
    ...fields.map(([tag, value]) => `<${tag}>${String(value)}</${tag}>`),
    `<CountDetails xmlns:d2p1="${COUNTS}">${counted}</CountDetails>`,
    "</QueueDescription></content></entry>",
  ].join("");
}
