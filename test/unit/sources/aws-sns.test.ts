import { beforeEach, describe, expect, it } from "vitest";
import { createAwsSns } from "../../../src/sources/aws-sns.ts";
import { SIGNER_PAIR } from "../../support/signer-certificate.ts";
import { SIGNED_AT, withBody } from "../../contract/source-fixture.ts";
import { TOPIC, arriveMessage, fetched, fixture, notificationAt, signMessage } from "../../contract/sources/aws-sns.ts";
import { codeOf, readRequest } from "./read-kind.ts";

const { settings } = fixture;
const SUBSCRIBE_URL = `https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;

function confirmation(more: Record<string, string> = {}) {
  const { Subject: _subject, ...message } = notificationAt(SIGNED_AT, {
    Type: "SubscriptionConfirmation",
    SubscribeURL: SUBSCRIBE_URL,
    Token: "2336412f37",
    ...more,
  });
  return arriveMessage(SIGNED_AT, signMessage(message));
}

beforeEach(() => {
  fetched.length = 0;
});

describe("a subscription to a topic", () => {
  it("is confirmed at the address that SNS names, and makes no event", async () => {
    const request = confirmation();
    await fixture.kind.verify?.(request, settings);
    expect(fetched.filter((url) => !url.endsWith(".pem"))).toEqual([SUBSCRIBE_URL]);
    expect(readRequest(fixture.kind, request, settings)).toEqual({ events: [], ignored: [{ cause: "handshake" }] });
  });

  it.each([
    "https://example.com/?Action=ConfirmSubscription",
    "http://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription",
    "https://sns.us-west-2.amazonaws.com@example.com/",
    "https://sns.us-west-2.amazonaws.com:22/",
    "https://169.254.169.254/latest/meta-data",
  ])("is confirmed nowhere else: %s", async (url) => {
    expect(await codeOf(() => fixture.kind.verify?.(confirmation({ SubscribeURL: url }), settings))).toBe(
      "bad_signature",
    );
    expect(fetched.filter((each) => !each.endsWith(".pem"))).toEqual([]);
  });

  it("is not confirmed for a foreign topic, or without a signature", async () => {
    const foreign = confirmation({ TopicArn: `${TOPIC}2` });
    expect(await codeOf(() => fixture.kind.verify?.(foreign, settings))).toBe("bad_signature");
    const body = Buffer.from(confirmation().body.toString().replace("2336412f37", "2336412f38"));
    expect(await codeOf(() => fixture.kind.verify?.(withBody(foreign, body), settings))).toBe("bad_signature");
    expect(fetched.filter((each) => !each.endsWith(".pem"))).toEqual([]);
  });

  it("is asked for again when SNS cannot be reached", async () => {
    const kind = createAwsSns({
      fetchText: (url) =>
        url.endsWith(".pem") ? Promise.resolve(SIGNER_PAIR.cert) : Promise.reject(new Error("no route")),
    });
    expect(await codeOf(() => kind.verify?.(confirmation(), settings))).toBe("unavailable");
  });

  it("may end, which is an event", () => {
    const message = notificationAt(SIGNED_AT, {
      Type: "UnsubscribeConfirmation",
      SubscribeURL: SUBSCRIBE_URL,
      Token: "t",
    });
    const { events } = readRequest(fixture.kind, arriveMessage(SIGNED_AT, message), settings);
    expect(events).toMatchObject([{ type: "aws-sns.unsubscribe_confirmation" }]);
  });
});

describe("a message of SNS", () => {
  it("may be signed with SHA-1, as topics do by default", async () => {
    const request = arriveMessage(SIGNED_AT, signMessage(notificationAt(SIGNED_AT, { SignatureVersion: "1" })));
    expect(await codeOf(() => fixture.kind.verify?.(request, settings))).toBeUndefined();
  });

  it("is JSON, although it says that it is text", async () => {
    const request = fixture.sign(SIGNED_AT);
    const [event] = readRequest(fixture.kind, request, settings).events;
    expect(event).toMatchObject({ contentType: "application/json", occurredAt: SIGNED_AT });
    const junk = withBody(request, Buffer.concat([request.body, Buffer.from("}")]));
    expect(await codeOf(() => readRequest(fixture.kind, junk, settings))).toBe("unreadable_body");
  });

  it("is not as large as a megabyte", async () => {
    const large = withBody(fixture.sign(SIGNED_AT), Buffer.alloc(1024 * 1024 + 1, 0x20));
    expect(await codeOf(() => fixture.kind.verify?.(large, settings))).toBe("too_large");
  });
});

describe("the certificate of SNS", () => {
  function kindWith(fetchText: (url: string) => Promise<string>) {
    const asked: string[] = [];
    const kind = createAwsSns({
      fetchText: (url) => {
        asked.push(url);
        return fetchText(url);
      },
    });
    return { kind, asked };
  }

  it("is fetched once, also when many messages come at once", async () => {
    const { kind, asked } = kindWith(() => Promise.resolve(SIGNER_PAIR.cert));
    const verify = () => codeOf(() => kind.verify?.(fixture.sign(SIGNED_AT), settings));
    expect(await Promise.all([verify(), verify(), verify()])).toEqual([undefined, undefined, undefined]);
    await kind.verify?.(fixture.sign(SIGNED_AT), settings);
    expect(asked).toHaveLength(1);
  });

  it("is asked for again after a failure, which is not the sender's", async () => {
    let isDown = true;
    const { kind, asked } = kindWith(() =>
      isDown ? Promise.reject(new Error("down")) : Promise.resolve(SIGNER_PAIR.cert),
    );
    expect(await codeOf(() => kind.verify?.(fixture.sign(SIGNED_AT), settings))).toBe("unavailable");
    isDown = false;
    expect(await codeOf(() => kind.verify?.(fixture.sign(SIGNED_AT), settings))).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  it("must be one, and valid now", async () => {
    const { kind } = kindWith(() => Promise.resolve("<html>"));
    expect(await codeOf(() => kind.verify?.(fixture.sign(SIGNED_AT), settings))).toBe("bad_signature");
    const late = { ...fixture.sign(SIGNED_AT), receivedAt: Date.UTC(2121, 0) };
    expect(await codeOf(() => fixture.kind.verify?.(late, settings))).toBe("bad_signature");
  });

  it("is fetched for a few senders at a time only", async () => {
    const waiting: (() => void)[] = [];
    const { kind, asked } = kindWith(() => new Promise((resolve) => waiting.push(() => resolve(SIGNER_PAIR.cert))));
    const codes = Array.from({ length: 6 }, (_, at) => {
      const url = `https://sns.us-west-2.amazonaws.com/SimpleNotificationService-${at}.pem`;
      const message = signMessage(notificationAt(SIGNED_AT, { SigningCertURL: url }));
      return codeOf(() => kind.verify?.(arriveMessage(SIGNED_AT, message), settings));
    });
    expect(asked).toHaveLength(4);
    for (const answer of waiting) answer();
    expect((await Promise.all(codes)).filter((code) => code === "overloaded")).toHaveLength(2);
  });
});
