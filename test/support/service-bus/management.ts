// The operations of a queue's `$management` node that clients of ours use.
import type { Message } from "rhea";
import type { BusQueue, Settlement } from "./bus-queue.ts";
import { decode, encode, readLong, toWire, wrapLongs, wrapTimes } from "./wire-values.ts";
import rhea from "rhea";

export interface ManagementAnswer {
  status: number;
  body?: Record<string, unknown>;
  errorCondition?: string;
}

type Operation = (queue: BusQueue, body: Record<string, unknown>, link: string) => ManagementAnswer;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "com.microsoft:schedule-message": (queue, { messages }) => {
    const sequences = (messages as { message: Buffer }[]).map(({ message }) => queue.send(decode(message)) ?? 0);
    return { status: 200, body: { "sequence-numbers": wrapLongs(sequences) } };
  },
  "com.microsoft:cancel-scheduled-message": (queue, body) => {
    queue.cancel((body["sequence-numbers"] as unknown[]).map(readLong));
    return { status: 200 };
  },
  "com.microsoft:renew-lock": (queue, body) => {
    const renewed = lockTokens(body).map((token) => queue.renew(token));
    const [until] = renewed;
    if (until === undefined) return { status: 410, errorCondition: "com.microsoft:message-lock-lost" };
    return { status: 200, body: { expirations: wrapTimes([until]) } };
  },
  "com.microsoft:renew-session-lock": (queue, body, link) => {
    const until = queue.renewSession(String(body["session-id"]), link);
    if (until === undefined) return { status: 410, errorCondition: "com.microsoft:session-lock-lost" };
    return { status: 200, body: { expiration: rhea.types.wrap_timestamp(until) } };
  },
  "com.microsoft:peek-message": (queue, body) => {
    const session = body["session-id"] as string | null | undefined;
    const found = queue.peek(
      readLong(body["from-sequence-number"]),
      Number(body["message-count"]),
      session ?? undefined,
    );
    if (found.length === 0) return { status: 204 };
    return { status: 200, body: { messages: found.map((one) => ({ message: encode(toWire(one)) })) } };
  },
  "com.microsoft:update-disposition": (queue, body) => {
    const settled = lockTokens(body).map((token) => queue.settle(token, toSettlement(body)));
    if (settled.includes("lost")) return { status: 410, errorCondition: "com.microsoft:message-lock-lost" };
    return { status: 200 };
  },
};

function lockTokens(body: Record<string, unknown>): string[] {
  return (body["lock-tokens"] as Uint8Array[]).map((token) => Buffer.from(token).toString("hex"));
}

function toSettlement(body: Record<string, unknown>): Settlement {
  const status = body["disposition-status"];
  if (status === "completed") return { act: "complete" };
  if (status === "abandoned") return { act: "abandon", changes: {} };
  return {
    act: "dead-letter",
    reason: body["deadletter-reason"] as string | undefined,
    description: body["deadletter-description"] as string | undefined,
  };
}

export function manage(queue: BusQueue, message: Message): ManagementAnswer {
  const name = String(message.application_properties?.["operation"]);
  const operation = OPERATIONS[name];
  if (operation === undefined) return { status: 501, errorCondition: `this server does not know ${name}` };
  const link = String(message.application_properties?.["associated-link-name"]);
  return operation(queue, message.body as Record<string, unknown>, link);
}
