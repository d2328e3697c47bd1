import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { FLOOD_OF_WRONG_KEYS, MAX_WRONG_KEYS, createAuthenticate } from "../../../src/api/authenticate.ts";
import { createClientAddress, createExemption } from "../../../src/intake/request.ts";
import type { Caller } from "../../../src/resources/keys.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const RIGHT = "phk_right-key-0123456789";
const CALLER: Caller = { keyId: "key_1", scopes: ["read"], tenantId: undefined, expiresAt: undefined };
const STRANGER = "203.0.113.9";

function open(trustedProxies: readonly string[] = []) {
  const time = createVirtualTime(1_750_000_000_000);
  const lines: object[] = [];
  const looked: string[] = [];
  const authenticate = createAuthenticate({
    keys: {
      authenticate(key) {
        looked.push(key);
        return key === RIGHT ? CALLER : key.startsWith("later") ? Promise.resolve(undefined) : undefined;
      },
    },
    sessions: { find: () => undefined },
    portalLinks: { find: () => undefined },
    clientAddress: createClientAddress(trustedProxies),
    isExempt: createExemption(trustedProxies),
    clock: createVirtualClock(time),
    logger: { warn: (...line: unknown[]) => void lines.push(line) },
  });
  /** The code of the refusal, or what is known of the caller. */
  async function ask(key: string | undefined, from: string, headers: object = {}) {
    const request = {
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
      socket: { remoteAddress: from },
    } as unknown as IncomingMessage;
    try {
      return (await authenticate(request))?.keyId;
    } catch (error) {
      return error instanceof PosthornError ? `${error.code} ${error.retryAfterS}` : error;
    }
  }
  const pass = (ms: number) => time.moveTo(time.elapsedMs + ms);
  return { ask, lines, looked, pass };
}

describe("wrong keys", () => {
  it("are rejected with 429 when many come from one address in a minute; right ones still work", async () => {
    const { ask, pass } = open();
    for (let n = 0; n < MAX_WRONG_KEYS; n++) expect(await ask(`wrong-${n}`, STRANGER)).toBeUndefined();
    pass(10_000);
    expect(await ask("wrong", STRANGER)).toBe("too_many_requests 50");
    expect(await ask("later", STRANGER)).toBe("too_many_requests 50");
    expect(await ask(RIGHT, STRANGER)).toBe("key_1");
    // Others have nothing to do with it.
    expect(await ask("wrong", "203.0.113.10")).toBeUndefined();
    pass(50_000);
    expect(await ask("wrong", STRANGER)).toBeUndefined();
  });

  it("in a flood are not even looked at, nor is any key from there until the minute is over", async () => {
    const { ask, looked, pass } = open();
    for (let n = 0; n < FLOOD_OF_WRONG_KEYS; n++) await ask("wrong", STRANGER);
    const before = looked.length;
    expect(await ask(RIGHT, STRANGER)).toBe("too_many_requests 60");
    expect(looked.length).toBe(before);
    expect(await ask(RIGHT, "203.0.113.10")).toBe("key_1");
    pass(60_000);
    expect(await ask(RIGHT, STRANGER)).toBe("key_1");
  });

  it("count for a whole network of IPv6, which one customer has for itself", async () => {
    const { ask } = open();
    for (let n = 0; n < MAX_WRONG_KEYS; n++) await ask("wrong", `2001:db8:1:2::${n.toString(16)}`);
    expect(await ask("wrong", "2001:db8:1:2:ffff::1")).toMatch(/^too_many/);
    expect(await ask("wrong", "2001:db8:1:3::1")).toBeUndefined();
  });

  it("are not limited for loopback and for trusted proxies, which stand for many", async () => {
    const { ask } = open(["10.0.0.0/8"]);
    for (const from of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"]) {
      for (let n = 0; n < MAX_WRONG_KEYS * 2; n++) expect(await ask("wrong", from)).toBeUndefined();
    }
  });

  it("behind a trusted proxy count for who is behind it", async () => {
    const { ask } = open(["10.0.0.0/8"]);
    const via = (client: string) => ({ "x-forwarded-for": client });
    for (let n = 0; n < MAX_WRONG_KEYS; n++) await ask("wrong", "10.0.0.1", via(STRANGER));
    expect(await ask("wrong", "10.0.0.1", via(STRANGER))).toMatch(/^too_many/);
    expect(await ask("wrong", "10.0.0.1", via("203.0.113.10"))).toBeUndefined();
  });

  it("are told, a few of them, with the address and without the key; none is no wrong one", async () => {
    const { ask, lines } = open();
    for (let n = 0; n < MAX_WRONG_KEYS * 3; n++) await ask(undefined, STRANGER);
    expect(lines).toEqual([]);
    for (let n = 0; n < 100; n++) await ask("wrong-secret", STRANGER);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject([{ remote_address: STRANGER, wrong_keys: 1 }, "a request had an invalid key"]);
    expect(JSON.stringify(lines)).not.toContain("secret");
    for (let n = 0; n < 5000; n++) await ask("wrong", `203.${n >> 8}.${n & 255}.1`);
    expect(lines.length).toBeLessThan(30);
  });

  it("of very many addresses are forgotten rather than kept without a bound", async () => {
    const { ask } = open();
    for (let n = 0; n < MAX_WRONG_KEYS; n++) await ask("wrong", STRANGER);
    for (let n = 0; n < 10_000; n++) await ask("wrong", `198.${n >> 8}.${n & 255}.1`);
    expect(await ask("wrong", STRANGER)).toBeUndefined();
  });
});
