import { describe, expect, it } from "vitest";
import { describeServer, parseSmtpUrl, type SmtpServer } from "../../../src/model/smtp.ts";

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
  ] as const)("refuses %s with tls %s", (url, mode, problem) => {
    const parsed = parseSmtpUrl(url, mode);
    expect(parsed).toContain(problem);
    expect(parsed).not.toContain("secret@");
  });

  it("is shown without who logs in", () => {
    const server = parseSmtpUrl("smtps://me:secret@[::1]:25", "auto") as SmtpServer;
    expect(describeServer(server)).toBe("smtps://[::1]:25");
  });
});
