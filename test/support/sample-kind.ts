import { createHmac, timingSafeEqual } from "node:crypto";
import { Type } from "typebox";
import { PosthornError } from "../../src/model/errors.ts";
import type { ArrivedRequest, Reading, PushedSourceKind } from "../../src/sources/source-kind.ts";

/**
 * A kind that uses every part of the port: `v1=<hex HMAC-SHA256 of time.body>` in `x-sample-signature`, the time in
 * `x-sample-time`, `GET ?challenge=` as its handshake, and bodies with one event or a list of them.
 */
export const SAMPLE_KIND: PushedSourceKind = {
  name: "sample",
  needsSecret: true,
  options: Type.Object(
    { strict: Type.Optional(Type.Boolean()), verify_token: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  handshakeMethods: ["GET"],
  pointers: [["id"], ["event"], ["about"]],
  only: undefined,
  handshake(request) {
    const challenge = new URLSearchParams(request.query).get("challenge");
    if (request.method !== "GET" || challenge === null) return undefined;
    return { status: 200, headers: { "content-type": "text/plain" }, body: challenge };
  },
  verify(request, { secrets }) {
    const time = headerOf(request, "x-sample-time");
    const isTimely = /^\d{13}$/.test(time) && Math.abs(request.receivedAt - Number(time)) <= SAMPLE_TOLERANCE_MS;
    const [, given] = /^v1=([0-9a-f]{64})$/.exec(headerOf(request, "x-sample-signature")) ?? [];
    const isSigned =
      given !== undefined &&
      secrets.some((secret) => timingSafeEqual(digest(secret, time, request.body), Buffer.from(given, "hex")));
    if (!isTimely || !isSigned) throw new PosthornError("bad_signature", "The signature does not match.");
  },
  events(request, _, form): Reading {
    if (form.kind !== "json") throw new PosthornError("unreadable_body", "This is no JSON.");
    const [id, event = "thing", about] = form.texts;
    const parsed = JSON.parse(request.body.toString("utf8")) as { list?: SampleItem[] } | null;
    if (!Array.isArray(parsed?.list)) {
      return { events: [{ type: `sample.${event}`, identity: id, orderingKey: about, occurredAt: SAMPLE_TIME }] };
    }
    return {
      events: parsed.list
        .filter((item) => item.event !== "noise")
        .map((item) => ({
          type: `sample.${String(item.event)}`,
          identity: String(item.id),
          body: Buffer.from(JSON.stringify(item)),
          contentType: "application/json",
        })),
      ignored: parsed.list.filter((item) => item.event === "noise").map(() => ({ cause: "noise" })),
    };
  },
};

interface SampleItem {
  id?: unknown;
  event?: unknown;
}

export const SAMPLE_TOLERANCE_MS = 300_000;
/** When all single events happened. */
export const SAMPLE_TIME = Date.UTC(2026, 0, 2, 3, 4, 5);

export function signSample(secret: string, at: number, body: Buffer | string): Record<string, string> {
  const signature = digest(secret, String(at), Buffer.from(body)).toString("hex");
  return {
    "content-type": "application/json",
    "x-sample-time": String(at),
    "x-sample-signature": `v1=${signature}`,
  };
}

function digest(secret: string, time: string, body: Buffer): Buffer {
  return createHmac("sha256", secret).update(`${time}.`).update(body).digest();
}

function headerOf({ headers }: ArrivedRequest, name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : "";
}
