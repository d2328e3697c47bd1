import { describe, expect, it } from "vitest";
import {
  appendForwardedFor,
  createHeaderChoice,
  findForwardedHeaderProblem,
} from "../../../src/domain/forwarded-headers.ts";

const NEVER = [
  ["connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "host", "content-length"],
  ["proxy-authorization", "proxy-connection", "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"],
  ["metadata", "x-aws-ec2-metadata-token", "metadata-flavor"],
  ["webhook-id", "webhook-timestamp", "webhook-signature", "x-webhook-id", "x-webhook-attempt", "traceparent"],
  ["content-type", "content-encoding", "accept-encoding"],
].flat();
const CREDENTIALS = ["authorization", "cookie", "x-api-key", "x-gitlab-token", "x-auth"];

describe("headers that are handed on", () => {
  it("are the usual ones when none are named: those of the sender, not of the way it came", () => {
    const isChosen = createHeaderChoice();
    const usual = ["x-github-event", "x-hub-signature-256", "stripe-signature", "accept", "x-webhook-topic", "date"];
    for (const name of usual) expect([name, isChosen(name)]).toEqual([name, true]);
    for (const name of [...NEVER, ...CREDENTIALS, "user-agent"]) expect([name, isChosen(name)]).toEqual([name, false]);
  });

  it("are only those that are named, credentials too, and * adds the usual ones", () => {
    const few = createHeaderChoice(["x-github-event", "authorization"]);
    expect(["x-github-event", "authorization", "accept", "cookie"].map(few)).toEqual([true, true, false, false]);
    const more = createHeaderChoice(["*", "cookie", "user-agent"]);
    expect(["x-github-event", "cookie", "user-agent", "authorization"].map(more)).toEqual([true, true, true, false]);
    expect(createHeaderChoice([])("accept")).toBe(false);
  });

  it("are never those that the subscription sets itself", () => {
    const isChosen = createHeaderChoice(["*", "authorization"], new Set(["authorization", "x-team"]));
    expect(["authorization", "x-team", "x-other"].map(isChosen)).toEqual([false, false, true]);
  });

  it("cannot be named when they belong to the connection, to proxies or to the gateway", () => {
    for (const name of NEVER) expect([name, findForwardedHeaderProblem(name)]).not.toEqual([name, undefined]);
    for (const name of ["a b", "", "x\r\ny", "ä"]) expect(findForwardedHeaderProblem(name)).toBeDefined();
    for (const name of ["*", "Authorization", "X-Hub-Signature"])
      expect(findForwardedHeaderProblem(name)).toBeUndefined();
  });

  it("say the way of a request with the address that sent it last, once", () => {
    expect(appendForwardedFor(undefined, "192.0.2.7")).toBe("192.0.2.7");
    expect(appendForwardedFor("198.51.100.1", "")).toBe("198.51.100.1");
    expect(appendForwardedFor("198.51.100.1", "192.0.2.7")).toBe("198.51.100.1, 192.0.2.7");
    expect(appendForwardedFor("198.51.100.1, 192.0.2.7", "192.0.2.7")).toBe("198.51.100.1, 192.0.2.7");
  });
});
