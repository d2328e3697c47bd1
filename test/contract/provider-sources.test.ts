import { afterAll, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { PosthornError } from "../../src/model/errors.ts";
import { EVENT_TYPE_PATTERN } from "../../src/model/event.ts";
import { isGatewayEventType } from "../../src/model/pattern.ts";
import { createBodyChecker } from "../../src/sandbox/text/body-check.ts";
import { createProviderKinds } from "../../src/sources/kinds.ts";
import type { ArrivedRequest, KindSettings, Reading } from "../../src/sources/source-kind.ts";
import { SIGNED_AT, type SourceFixture } from "./source-fixture.ts";
import { PROVIDER_FIXTURES } from "./sources/all.ts";

const bodies = createBodyChecker({ maxDepth: 64 });
afterAll(() => bodies.close());

const OTHER_SECRET = "whsec_YW5vdGhlciBzZWNyZXQgb2Ygbm9ib2R5IGhlcmU=";
const LEGAL_TYPE = new RegExp(EVENT_TYPE_PATTERN);
const NO_OPTIONS = Type.Object({}, { additionalProperties: false });

const all = Object.entries(PROVIDER_FIXTURES);
const reading = all.filter(([, { kind }]) => kind.events !== undefined);
const withSecrets = all.filter(([, { kind }]) => kind.needsSecret);
const withHeaders = all.flatMap(([name, fixture]) =>
  (fixture.signatureHeaders ?? []).map((header) => ({ name, fixture, header })),
);
const covering = all.filter(([, { coversBody }]) => coversBody);
const withTime = all.flatMap(([name, fixture]) =>
  fixture.toleranceMs === undefined ? [] : [{ name, fixture, toleranceMs: fixture.toleranceMs }],
);
const withForgeries = all.flatMap(([name, fixture]) =>
  (fixture.forgeries ?? []).map((forgery) => ({ name, fixture, forgery, what: forgery.name })),
);
const withHandshakes = all.flatMap(([name, fixture]) =>
  (fixture.handshakes ?? []).map(({ request, answer }) => ({ name, fixture, request, answer, method: request.method })),
);

describe("a kind of source", () => {
  it.each(all)("takes what its sender signed: %s", async (_name, fixture) => {
    expect(await verdictOn(fixture, fixture.sign(SIGNED_AT))).toBe("accepted");
  });

  it.each(reading)("names and identifies what it reads: %s", async (_name, fixture) => {
    const [first] = (await readEvents(fixture, fixture.sign(SIGNED_AT))).events;
    expect({ type: first?.type, identity: first?.identity }).toEqual(fixture.expected);
    expect(first?.type).toMatch(LEGAL_TYPE);
    expect(isGatewayEventType(fixture.expected.type)).toBe(false);
  });

  it.each(reading)("knows a repetition by its identity: %s", async (_name, fixture) => {
    const identities = async () =>
      (await readEvents(fixture, fixture.sign(SIGNED_AT))).events.map(({ identity }) => identity);
    const first = await identities();
    expect(await identities()).toEqual(first);
    const known = first.filter((identity) => identity !== undefined);
    expect(new Set(known).size).toBe(known.length);
  });

  it.each(all)("describes its options, and has no others: %s", (_name, { kind, settings }) => {
    const options = kind.options ?? NO_OPTIONS;
    expect([...Value.Errors(options, settings.options)]).toEqual([]);
    expect(Value.Check(options, { ...settings.options, nope: 1 })).toBe(false);
  });

  it.each(withSecrets)("takes any live secret, and no other: %s", async (_name, fixture) => {
    const { settings } = fixture;
    const verdicts = [[OTHER_SECRET, ...settings.secrets], [...settings.secrets, OTHER_SECRET], [OTHER_SECRET], []].map(
      (secrets) => verdictOn(fixture, fixture.sign(SIGNED_AT), { ...settings, secrets }),
    );
    expect(await Promise.all(verdicts)).toEqual(["accepted", "accepted", "bad_signature", "bad_signature"]);
  });

  it.each(withHeaders)(
    "rejects a request whose signature is missing, longer, shorter or another: $name, $header",
    async ({ fixture, header }) => {
      const request = fixture.sign(SIGNED_AT);
      const value = String(request.headers[header]);
      for (const other of [undefined, "", `${value}0`, value.slice(0, -1), flip(value), value.slice(1), "é", "0"]) {
        const headers = { ...request.headers, [header]: other };
        expect([other, await verdictOn(fixture, { ...request, headers })]).toEqual([other, "bad_signature"]);
      }
    },
  );

  it.each(covering)("rejects another body under the same signature: %s", async (_name, fixture) => {
    const request = fixture.sign(SIGNED_AT);
    for (const body of otherBodies(request)) {
      expect(await verdictOn(fixture, { ...request, body })).toBe("bad_signature");
    }
  });

  it.each(withTime)("rejects what was signed too long ago, or will be: $name", async ({ fixture, toleranceMs }) => {
    const request = fixture.sign(SIGNED_AT);
    for (const away of [toleranceMs, -toleranceMs]) {
      expect(await verdictOn(fixture, { ...request, receivedAt: SIGNED_AT + away })).toBe("accepted");
      expect(await verdictOn(fixture, { ...request, receivedAt: SIGNED_AT + away + Math.sign(away) * 1000 })).toBe(
        "bad_signature",
      );
    }
  });

  it.each(withForgeries)("rejects $what: $name", async ({ fixture, forgery }) => {
    expect(await verdictOn(fixture, forgery.request(SIGNED_AT))).toBe("bad_signature");
  });

  it.each(withHandshakes)("answers its provider's handshake: $name, $method", ({ fixture, request, answer }) => {
    const { kind, settings } = fixture;
    expect(kind.handshake?.(request, settings)).toEqual(answer);
    expect(["POST", ...(kind.handshakeMethods ?? [])]).toContain(request.method);
    expect(kind.handshake?.(fixture.sign(SIGNED_AT), settings)).toBeUndefined();
  });

  it.each(all)("meets anything else with a rejection, never with a crash: %s", async (_name, fixture) => {
    await fc.assert(
      fc.asyncProperty(oddRequests(fixture.sign(SIGNED_AT)), async (request) => {
        const verdict = await verdictOn(fixture, request);
        const events = verdict === "accepted" ? await findEvents(fixture, request) : [];
        expect(verdict).toMatch(/^[a-z_]+$/);
        expect(events.filter(({ type }) => !LEGAL_TYPE.test(type))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

it("every kind is listed once and has a fixture", () => {
  const names = createProviderKinds({ fetchText: () => Promise.reject(new Error("offline")) }).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect([...new Set(all.map(([, { kind }]) => kind.name))].sort()).toEqual([...names].sort());
});

/** `accepted`, `handshake`, or the code of the refusal; anything else that is thrown fails the test. */
async function verdictOn(fixture: SourceFixture, request: ArrivedRequest, settings?: KindSettings): Promise<string> {
  const { kind } = fixture;
  try {
    if (kind.handshake?.(request, settings ?? fixture.settings) !== undefined) return "handshake";
    await kind.verify?.(request, settings ?? fixture.settings);
    return "accepted";
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return error.code;
  }
}

async function readEvents({ kind, settings }: SourceFixture, request: ArrivedRequest): Promise<Reading> {
  const form = await bodies.check(request.body, request.headers["content-type"], kind.pointers ?? []);
  return kind.events?.(request, settings, form) ?? { events: [] };
}

async function findEvents(fixture: SourceFixture, request: ArrivedRequest): Promise<Reading["events"]> {
  try {
    return (await readEvents(fixture, request)).events;
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    return [];
  }
}

function oddRequests(signed: ArrivedRequest): fc.Arbitrary<ArrivedRequest> {
  return fc
    .record({
      header: fc.constantFrom(...Object.keys(signed.headers)),
      value: fc.oneof(
        fc.string({ maxLength: 200 }),
        fc.constant(undefined),
        fc.stringMatching(/^[0-9a-f=,.:v ]{0,80}$/),
      ),
      body: fc.oneof(
        fc.constant(signed.body),
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        fc.json().map((text) => Buffer.from(text)),
        fc.nat({ max: signed.body.length }).map((end) => signed.body.subarray(0, end)),
      ),
      query: fc.oneof(
        fc.constant(signed.query),
        fc.string({ maxLength: 60 }),
        fc.constant("validationToken=%ZZ&challenge"),
      ),
      method: fc.constantFrom("POST", "GET"),
    })
    .map(({ header, value, body, query, method }) => ({
      ...signed,
      body,
      query,
      method,
      headers: { ...signed.headers, [header]: value },
    }));
}

function otherBodies({ body }: ArrivedRequest): readonly Buffer[] {
  const flipped = Buffer.from(body);
  flipped[flipped.length - 3] = (flipped[flipped.length - 3] as number) ^ 1;
  return [flipped, Buffer.concat([body, Buffer.from(" ")]), Buffer.from('{"type":"other"}'), Buffer.alloc(0)];
}

function flip(text: string): string {
  const middle = Math.floor(text.length / 2);
  return text.slice(0, middle) + (text[middle] === "1" ? "2" : "1") + text.slice(middle + 1);
}
