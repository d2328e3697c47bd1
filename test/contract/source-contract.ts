import { stored } from "../../src/model/accepted.ts";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { PosthornError } from "../../src/model/errors.ts";
import { createBodyChecker } from "../../src/sandbox/text/body-check.ts";
import type { SourceFixture } from "./source-fixture.ts";
import type { ArrivedRequest, Reading } from "../../src/sources/source-kind.ts";

export type { SourceFixture };

export interface SourceCheck {
  name: string;
  appliesTo?: (fixture: SourceFixture) => boolean;
  run: (fixture: SourceFixture) => Promise<void>;
}

const NOON = Date.UTC(2026, 10, 16, 12);
const SECOND_MS = 1000;
const REFUSED = { name: "PosthornError", code: "bad_signature" };
const bodies = createBodyChecker({ maxDepth: 128 });
afterAll(() => bodies.close());

const verifies = ({ kind }: SourceFixture) => kind.verify !== undefined;

async function verify({ kind, settings }: SourceFixture, request: ArrivedRequest, change = {}): Promise<void> {
  await kind.verify?.(request, { ...settings, ...change });
}

async function read({ kind, settings }: SourceFixture, request: ArrivedRequest): Promise<Reading | undefined> {
  const form = await bodies.check(request.body, request.headers["content-type"], kind.pointers ?? []);
  return kind.events?.(request, settings, form);
}

async function isRefused(fixture: SourceFixture, request: ArrivedRequest): Promise<boolean> {
  return verify(fixture, request).then(
    () => false,
    () => true,
  );
}

function withHeader(request: ArrivedRequest, name: string, value: string | undefined): ArrivedRequest {
  const { [name]: _, ...others } = request.headers;
  return { ...request, headers: value === undefined ? others : { ...others, [name]: value } };
}

/** Headers that the signature cannot do without. */
async function findSignedHeaders(fixture: SourceFixture): Promise<[name: string, value: string][]> {
  const request = fixture.sign(NOON);
  const found: [string, string][] = [];
  for (const [name, value] of Object.entries(request.headers)) {
    if (await isRefused(fixture, withHeader(request, name, undefined))) found.push([name, String(value)]);
  }
  return found;
}

/** Another text that looks like it. */
function alter(text: string): string {
  const characters = text.split("");
  for (let at = Math.floor(characters.length / 2); at < characters.length; at++) {
    const character = characters[at] as string;
    if (!/[0-9a-zA-Z]/.test(character)) continue;
    characters[at] = character === "a" ? "b" : "a";
    return characters.join("");
  }
  return `${text}a`;
}

/** What every kind of source promises; each by itself, so that a kind which breaks one can be shown to fail it. */
export const SOURCE_CHECKS: readonly SourceCheck[] = [
  {
    name: "accepts a signed request",
    run: async (fixture) => verify(fixture, fixture.sign(NOON)),
  },
  {
    name: "finds type and identity, and the same ones when the request comes again",
    appliesTo: ({ kind }) => kind.events !== undefined,
    async run(fixture) {
      for (const request of [fixture.sign(NOON), fixture.sign(NOON)]) {
        const [event] = (await read(fixture, request))?.events ?? [];
        expect({ type: event?.type, identity: event?.identity }).toEqual(fixture.expected);
      }
    },
  },
  {
    name: "refuses a request that was signed with another secret",
    appliesTo: (fixture) => verifies(fixture) && fixture.settings.secrets.length > 0,
    async run(fixture) {
      const others = fixture.settings.secrets.map(alter);
      await expect(verify(fixture, fixture.sign(NOON), { secrets: others })).rejects.toMatchObject(REFUSED);
    },
  },
  {
    name: "tries all live secrets, whichever is current",
    appliesTo: (fixture) => verifies(fixture) && fixture.settings.secrets.length > 0,
    async run(fixture) {
      const { secrets } = fixture.settings;
      const others = secrets.map(alter);
      await verify(fixture, fixture.sign(NOON), { secrets: [...others, ...secrets] });
      await verify(fixture, fixture.sign(NOON), { secrets: [...secrets, ...others] });
    },
  },
  {
    name: "refuses a request without one of the headers that sign it",
    appliesTo: verifies,
    async run(fixture) {
      const request = fixture.sign(NOON);
      for (const [name] of await findSignedHeaders(fixture)) {
        await expect(verify(fixture, withHeader(request, name, undefined))).rejects.toMatchObject(REFUSED);
        await expect(verify(fixture, withHeader(request, name, ""))).rejects.toMatchObject(REFUSED);
      }
    },
  },
  {
    name: "refuses a signature that is too short, too long or another",
    appliesTo: verifies,
    async run(fixture) {
      const request = fixture.sign(NOON);
      for (const [name, value] of await findSignedHeaders(fixture)) {
        for (const changed of [value.slice(0, -1), value.slice(0, 1), `${value}0`, alter(value)]) {
          const tried = verify(fixture, withHeader(request, name, changed));
          await expect(tried, `${name}: ${changed}`).rejects.toMatchObject(REFUSED);
        }
      }
    },
  },
  {
    name: "refuses another body under the same signature",
    appliesTo: (fixture) => verifies(fixture) && fixture.coversBody,
    async run(fixture) {
      const request = fixture.sign(NOON);
      const swapped = Buffer.from(request.body);
      const at = Math.floor(swapped.length / 2);
      swapped[at] = (swapped[at] ?? 0) ^ 1;
      const longer = Buffer.concat([request.body, Buffer.from(" ")]);
      for (const body of [swapped, longer, Buffer.alloc(0)]) {
        await expect(verify(fixture, { ...request, body })).rejects.toMatchObject(REFUSED);
      }
    },
  },
  {
    name: "refuses a request that was signed too long ago, or in the future",
    appliesTo: ({ toleranceMs }) => toleranceMs !== undefined,
    async run(fixture) {
      const toleranceMs = fixture.toleranceMs ?? 0;
      const request = fixture.sign(NOON);
      const arriving = (receivedAt: number) => verify(fixture, { ...request, receivedAt });
      await arriving(NOON + toleranceMs - 2 * SECOND_MS);
      await expect(arriving(NOON + toleranceMs + 2 * SECOND_MS)).rejects.toMatchObject(REFUSED);
      await expect(arriving(NOON - toleranceMs - 2 * SECOND_MS)).rejects.toMatchObject(REFUSED);
    },
  },
  {
    name: "answers its handshakes, and takes no webhook for one",
    async run({ kind, settings, handshakes = [], sign }) {
      for (const { request, answer } of handshakes) expect(kind.handshake?.(request, settings)).toEqual(answer);
      expect(kind.handshake?.(sign(NOON), settings)).toBeUndefined();
    },
  },
  {
    name: "answers every outcome with success",
    async run({ kind }) {
      const outcomes = [
        stored("evt_1", 1, []),
        { kind: "several", eventIds: ["evt_1", "evt_2"], deliveries: 2, givenUp: undefined },
        { kind: "duplicate", eventId: "evt_1" },
        { kind: "ignored", cause: "filtered" },
      ] as const;
      for (const outcome of outcomes) {
        const { status } = kind.answer?.(outcome) ?? { status: 200 };
        expect(status >= 200 && status < 300).toBe(true);
      }
    },
  },
  {
    name: "throws nothing but its own errors, whatever comes",
    async run(fixture) {
      const signed = fixture.sign(NOON);
      const names = [...Object.keys(signed.headers), "x-other"];
      const value = fc.oneof(
        fc.string(),
        fc.constantFrom(...Object.values(signed.headers).map(String)),
        fc.base64String(),
      );
      const headers = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 });
      const body = fc.oneof(
        fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
        fc.json().map((text) => Buffer.from(text)),
        fc.constant(signed.body),
      );
      const query = fc.oneof(fc.constant(signed.query), fc.webQueryParameters());
      const method = fc.constantFrom("POST", "GET", ...(fixture.kind.handshakeMethods ?? []));
      const isRaw = fc.boolean();
      await fc.assert(
        fc.asyncProperty(headers, body, query, method, isRaw, async (given, bytes, search, by, raw) => {
          const merged = raw ? given : { ...signed.headers, ...given };
          const request = { ...signed, method: by, headers: merged, body: bytes, query: search };
          await onlyOwnErrors(async () => void fixture.kind.handshake?.(request, fixture.settings));
          await onlyOwnErrors(() => verify(fixture, request));
          await onlyOwnErrors(async () => void (await read(fixture, request)));
        }),
        { numRuns: 200 },
      );
    },
  },
];

async function onlyOwnErrors(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof PosthornError) || error.code === "internal_error") throw error;
  }
}

afterAll(bodies.close);

export function sourceContract(fixture: SourceFixture): void {
  describe(`the source contract: ${fixture.kind.name}`, () => {
    const checks = SOURCE_CHECKS.filter(({ appliesTo }) => appliesTo === undefined || appliesTo(fixture));
    it.each(checks)("$name", async ({ run }) => {
      await expect(run(fixture)).resolves.toBeUndefined();
    });
  });
}
