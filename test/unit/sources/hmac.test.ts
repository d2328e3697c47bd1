import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { hmac } from "../../../src/sources/hmac.ts";
import { SIGNED_AT, arrive, json } from "../../contract/source-fixture.ts";
import { codeOf } from "./read-kind.ts";

const BODY = json({ a: "é" });

function verdict(options: Record<string, unknown>, headers: Record<string, string>): Promise<unknown> {
  const settings = { source: "own", secrets: ["s"], options: { header: "X-Signature", ...options } };
  return codeOf(() => hmac.verify?.(arrive("own", { at: SIGNED_AT, headers, body: BODY, query: "q=1" }), settings));
}

function sign(text: string, algorithm = "sha256", encoding: "hex" | "base64" | "base64url" = "hex"): string {
  const [before = "", after = ""] = text.split("{body}");
  return createHmac(algorithm, "s").update(before).update(BODY).update(after).digest(encoding);
}

it("by default a signature is the hex HMAC-SHA256 of the body", async () => {
  expect(await verdict({}, { "x-signature": sign("{body}") })).toBeUndefined();
  expect(await verdict({}, { "x-signature": sign("{body}").toUpperCase() })).toBeUndefined();
  expect(await verdict({}, { "x-signature": sign("{body} ") })).toBe("bad_signature");
});

it("only a whole digest passes, also just after a good one", async () => {
  const good = sign("{body}");
  expect(await verdict({}, { "x-signature": good })).toBeUndefined();
  const bad = [
    good.slice(0, 63),
    `${good}0`,
    `${good.slice(0, 62)}zz`,
    `${good.slice(0, 63)}ł`,
    "z".repeat(64),
    good.slice(2),
  ];
  for (const signature of [...bad, `0x${good.slice(2)}`, ` ${good.slice(1)}`]) {
    expect(await verdict({}, { "x-signature": signature })).toBe("bad_signature");
  }
});

it.each(["sha1", "sha256", "sha384", "sha512"])("the algorithm may be %s, and then no other", async (algorithm) => {
  const signature = sign("{body}", algorithm, "base64");
  expect(await verdict({ algorithm, encoding: "base64" }, { "x-signature": signature })).toBeUndefined();
  const other = algorithm === "sha1" ? "sha512" : "sha1";
  expect(await verdict({ algorithm: other, encoding: "base64" }, { "x-signature": signature })).toBe("bad_signature");
});

it("a prefix is required when there is one", async () => {
  const options = { prefix: "sha256=" };
  expect(await verdict(options, { "x-signature": `sha256=${sign("{body}")}` })).toBeUndefined();
  expect(await verdict(options, { "x-signature": sign("{body}") })).toBe("bad_signature");
});

it.each([{ tolerance_s: 300 }, { timestamp_header: "X-Time" }, { tolerance_s: 300, timestamp_header: "X-Time" }])(
  "a time beside the signature is checked where %j asks for it",
  async (options) => {
    const name = "timestamp_header" in options ? "x-time" : "x-webhook-timestamp";
    const at = (secondsAgo: number) => ({
      "x-signature": sign("{body}"),
      [name]: String(Math.floor(SIGNED_AT / 1000) - secondsAgo),
    });
    expect(await verdict(options, at(200))).toBeUndefined();
    expect(await verdict(options, at(3600))).toBe("bad_signature");
    expect(await verdict(options, at(-3600))).toBe("bad_signature");
    expect(await verdict(options, { "x-signature": sign("{body}") })).toBe("bad_signature");
    expect(await verdict({}, at(3600))).toBeUndefined();
  },
);

it("what is signed may hold the URL, the path, the query and a header", async () => {
  const signed = "{url}|{path}|{query}|{header:X-Id}|{body}";
  const text = "https://hooks.example.com/webhook/own?q=1|/webhook/own|q=1|7|{body}";
  const headers = { "x-signature": sign(text), "x-id": "7" };
  expect(await verdict({ signed }, headers)).toBeUndefined();
  expect(await verdict({ signed }, { ...headers, "x-id": "8" })).toBe("bad_signature");
  expect(await verdict({ signed }, { "x-signature": sign(text) })).toBe("bad_signature");
});

it.each([
  ["seconds", String(SIGNED_AT / 1000), String(SIGNED_AT / 1000 - 301)],
  ["milliseconds", String(SIGNED_AT), String(SIGNED_AT - 301_000)],
  ["RFC 3339", new Date(SIGNED_AT).toISOString(), new Date(SIGNED_AT - 301_000).toISOString()],
  ["what is no time", String(SIGNED_AT / 1000), "yesterday"],
])("a time in %s is checked", async (_unit, fresh, stale) => {
  const options = { signed: "{timestamp}.{body}" };
  const headers = (time: string) => ({ "x-signature": sign(`${time}.{body}`), "x-webhook-timestamp": time });
  expect(await verdict(options, headers(fresh))).toBeUndefined();
  expect(await verdict(options, headers(stale))).toBe("bad_signature");
});
