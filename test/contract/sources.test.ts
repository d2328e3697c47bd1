import { describe, expect, it } from "vitest";
import { SOURCE_CHECKS, sourceContract, type SourceFixture } from "./source-contract.ts";
import { fixture as generic } from "./sources/generic.ts";
import { fixture as smartsheet } from "./sources/smartsheet.ts";
import { fixture as sample } from "./sources/sample.ts";

for (const fixture of [generic, sample, smartsheet]) sourceContract(fixture);

describe("the source contract", () => {
  /** Each breaks one promise. */
  const BROKEN: readonly [promise: RegExp, change: Partial<SourceFixture["kind"]>][] = [
    [/signed with another secret/, { verify: () => undefined }],
    [/another body/, { verify: () => undefined }],
    [/too long ago/, { verify: () => undefined }],
    [/all live secrets/, { verify: (request, settings) => verifyFirst(request, settings) }],
    [/type and identity/, { events: () => ({ events: [{ type: "sample.made", identity: String(Math.random()) }] }) }],
    [/nothing but its own errors/, { events: () => JSON.parse("{") as never }],
    [/every outcome/, { answer: () => ({ status: 500 }) }],
    [/handshakes/, { handshake: () => ({ status: 200 }) }],
  ];

  const verifyFirst: NonNullable<SourceFixture["kind"]["verify"]> = (request, settings) =>
    sample.kind.verify?.(request, { ...settings, secrets: settings.secrets.slice(0, 1) });

  it.each(BROKEN)("fails a kind that breaks %s", async (promise, change) => {
    const check = SOURCE_CHECKS.find(({ name }) => promise.test(name));
    await expect(check?.run(sample)).resolves.toBeUndefined();
    await expect(check?.run({ ...sample, kind: { ...sample.kind, ...change } })).rejects.toThrow(Error);
  });
});
