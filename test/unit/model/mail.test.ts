import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hasLineFault,
  parseMailAddress,
  describeServer,
  parseSmtpUrl,
  type SmtpServer,
} from "../../../src/model/mail.ts";

describe("an e-mail address", () => {
  it.each([
    ["a@example.com", "", "a@example.com"],
    ["  a.b+c@mail.example.com ", "", "a.b+c@mail.example.com"],
    ["Ann <ann@example.com>", "Ann", "ann@example.com"],
    ['"Doe, Ann" <ann@example.com>', "Doe, Ann", "ann@example.com"],
    ["jörg@example.com".replace("ö", "o"), "", "jorg@example.com"],
    ["a@bücher.example", "", "a@xn--bcher-kva.example"],
    ["root@localhost", "", "root@localhost"],
  ])("is read from %s", (text, name, address) => {
    expect(parseMailAddress(text)).toEqual({ name, address });
  });

  it.each([
    "",
    "a",
    "@example.com",
    "a@",
    "a@b@example.com",
    "a b@example.com",
    "a..b@example.com",
    ".a@example.com",
    '"a b"@example.com',
    "a@-example.com",
    "a@example..com",
    "a@example.com/x",
    "a@example.com?x",
    "a@example.com:25",
    "a@127.0.0.1",
    "a@[127.0.0.1]",
    "a@example.com, b@example.com",
    "a@example.com; b@example.com",
    "<a@example.com> b@example.com",
    "a@example.com\r\nRCPT TO:<b@example.com>",
    "Ann\nBcc: b@example.com <a@example.com>",
    "a@exam\u0000ple.com",
    "a\u202e@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.${"f".repeat(60)}.example`,
    "jörg@example.com",
  ])("is not %j", (text) => {
    expect(parseMailAddress(text)).toEqual(expect.any(String) as string);
  });

  it("never has what ends a line or a path in it, whatever it is read from", () => {
    const texts = fc.string({
      unit: fc.constantFrom("a", "@", ".", "<", ">", "\r", "\n", '"', " ", ",", "é", "-", ":"),
    });
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseMailAddress(text);
        if (typeof parsed === "string") return;
        expect(parsed.address).toMatch(/^[\x21-\x7e]+$/);
        expect(parsed.address).not.toMatch(/[<>,;:"\s]/);
        expect(hasLineFault(parsed.name)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the URL of an SMTP server", () => {
  it.each([
    ["smtps://mail.example.com", "auto", { port: 465, tls: "immediate" }],
    ["smtp://mail.example.com", "auto", { port: 587, tls: "upgrade" }],
    ["smtp://mail.example.com:25", "none", { port: 25, tls: "none" }],
    ["smtp://127.0.0.1:1025", "auto", { host: "127.0.0.1", tls: "none" }],
    ["smtp://localhost", "required", { tls: "upgrade" }],
    ["smtp://[::1]:2525", "auto", { host: "::1", tls: "none" }],
    ["smtps://me%40x:p%3Aw@mail.example.com", "auto", { login: { user: "me@x", password: "p:w" } }],
  ] as const)("%s with tls %s", (url, mode, expected) => {
    expect(parseSmtpUrl(url, mode)).toMatchObject(expected);
  });

  it.each([
    ["http://mail.example.com", "auto", "is not the URL of an SMTP server"],
    ["mail.example.com", "auto", "is not the URL of an SMTP server"],
    ["smtp://mail.example.com/path", "auto", "must not have a path"],
    ["smtp://mail.example.com?tls=no", "auto", "must not have a path"],
    ["smtp://me:secret@mail.example.com", "none", "would be sent without encryption"],
  ] as const)("rejects %s with tls %s", (url, mode, problem) => {
    const parsed = parseSmtpUrl(url, mode);
    expect(parsed).toContain(problem);
    expect(parsed).not.toContain("secret@");
  });

  it("is shown without who logs in", () => {
    const server = parseSmtpUrl("smtps://me:secret@[::1]:25", "auto") as SmtpServer;
    expect(describeServer(server)).toBe("smtps://[::1]:25");
  });
});
