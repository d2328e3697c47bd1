import { describe, expect, it } from "vitest";
import { createHeaderChoice, checkForwardHeaders, namesOfConnection } from "../../../src/destinations/forward.ts";

const NEVER = [
  ["connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "host", "content-length"],
  ["proxy-authorization", "proxy-connection", "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"],
  ["x-forwarded", "x-forwarded-proto", "x-forwarded-prefix", "x-forwarder-for", "x-envoy-external-address", "x-scheme"],
  ["x-client-ip", "client-ip", "true-client-ip", "cf-connecting-ip", "cf-connecting-ipv6", "cf-pseudo-ipv4"],
  ["fastly-client-ip", "fly-client-ip", "do-connecting-ip", "x-nf-client-connection-ip", "x-cluster-client-ip"],
  ["x-azure-clientip", "x-azure-socketip", "x-appengine-user-ip", "x-originating-ip", "x-remote-ip", "x-remote-addr"],
  ["x-original-url", "x-rewrite-url", "x-original-uri", "x-original-host", "x-host", "x-http-host-override"],
  ["x-original-forwarded-for", "x-override-url", "x-backend-host", "x-accel-redirect", "x-accel-expires"],
  ["remote-user", "x-remote-user", "x_remote_user", "x-webauth-user", "x-auth-request-email", "x-ms-client-principal"],
  ["x-http-method-override", "x-http-method", "x-method-override"],
  ["x_forwarded_for", "x_real_ip", "true_client_ip", "x_original_url", "x-http_method_override", "content_length"],
  ["webhook_id", "x_webhook_attempt", "x-posthorn-hops", "x_posthorn_hops"],
  ["metadata", "x-aws-ec2-metadata-token", "metadata-flavor"],
  ["traceparent", "content-type", "content-encoding", "accept-encoding"],
].flat();
/** Those of the gateway, unless the sender's are asked for. */
const SIGNED = [
  ["webhook-id", "webhook-timestamp", "webhook-signature"],
  ["x-webhook-id", "x-webhook-event", "x-webhook-timestamp", "x-webhook-attempt"],
].flat();
const CREDENTIALS = ["authorization", "cookie", "x-api-key", "x-gitlab-token", "x-auth"];

const findProblem = (name: string) => checkForwardHeaders([name])[0]?.[1];

describe("headers that are handed on", () => {
  it("are the usual ones when none are named: those of the sender, not of the way it came", () => {
    const isChosen = createHeaderChoice();
    const usual = ["x-github-event", "x-hub-signature-256", "stripe-signature", "accept", "x-webhook-topic", "date"];
    usual.push(
      "x_shop",
      "x-shipping-address",
      "x-method",
      "x-original-message-id",
      "x-ip-count",
      "x-zip",
      "x-user-count",
      "x-backend-version",
    );
    for (const name of usual) expect([name, isChosen(name)]).toEqual([name, true]);
    for (const name of [...NEVER, ...SIGNED, ...CREDENTIALS, "user-agent"])
      expect([name, isChosen(name)]).toEqual([name, false]);
  });

  it("are only those that are named, credentials too, and * adds the usual ones", () => {
    const few = createHeaderChoice(["x-github-event", "authorization"]);
    expect(["x-github-event", "authorization", "accept", "cookie"].map(few)).toEqual([true, true, false, false]);
    const more = createHeaderChoice(["*", "cookie", "user-agent"]);
    expect(["x-github-event", "cookie", "user-agent", "authorization"].map(more)).toEqual([true, true, true, false]);
    expect(createHeaderChoice([])("accept")).toBe(false);
    for (const name of SIGNED) expect([name, createHeaderChoice(["*", name])(name)]).toEqual([name, true]);
  });

  it("are never those that the subscription sets itself", () => {
    const isChosen = createHeaderChoice(["*", "authorization"], new Set(["authorization", "x-team"]));
    expect(["authorization", "x-team", "x-other"].map(isChosen)).toEqual([false, false, true]);
  });

  it("cannot be named when they belong to the connection, to proxies or to the gateway", () => {
    for (const name of NEVER) expect([name, findProblem(name)]).not.toEqual([name, undefined]);
    for (const name of ["a b", "", "x\r\ny", "ä"]) expect(findProblem(name)).toBeDefined();
    for (const name of ["*", "Authorization", "X-Hub-Signature", ...SIGNED]) expect(findProblem(name)).toBeUndefined();
  });

  it("are never those that the connection they came by names as its own", () => {
    expect(namesOfConnection(undefined)).toBeUndefined();
    expect(namesOfConnection("Keep-Alive")).toBeUndefined();
    expect(namesOfConnection("close, X-Internal-User,x_trace")).toEqual(
      new Set(["close", "x-internal-user", "x-trace"]),
    );
  });
});
