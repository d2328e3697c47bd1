import { sign as signBytes } from "node:crypto";
import { createAwsSns } from "../../../src/sources/aws-sns.ts";
import type { ArrivedRequest } from "../../../src/sources/source-kind.ts";
import { SIGNER_PAIR } from "../../support/signer-certificate.ts";
import { arrive, json, settingsOf, withBody, type SourceFixture } from "../source-fixture.ts";

export const TOPIC = "arn:aws:sns:us-west-2:123456789012:MyTopic";
const CERTIFICATE_URL =
  "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem";
const ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324";

/** What was fetched, in order. */
export const fetched: string[] = [];

const kind = createAwsSns({
  fetchText: (url) => {
    fetched.push(url);
    return Promise.resolve(url.endsWith(".pem") ? SIGNER_PAIR.cert : "<ConfirmSubscriptionResponse/>");
  },
});

const NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

export function signMessage(message: Record<string, string>): Record<string, string> {
  const names = message["Type"] === "Notification" ? NOTIFICATION : CONFIRMATION;
  const text = names.map((name) => (name in message ? `${name}\n${message[name]}\n` : "")).join("");
  const algorithm = message["SignatureVersion"] === "1" ? "sha1" : "sha256";
  return { ...message, Signature: signBytes(algorithm, Buffer.from(text), SIGNER_PAIR.key).toString("base64") };
}

export function notificationAt(at: number, more: Record<string, string> = {}): Record<string, string> {
  return {
    Type: "Notification",
    MessageId: ID,
    TopicArn: TOPIC,
    Subject: "My First Message",
    Message: 'Hello "world"\nwith ünïcode',
    Timestamp: new Date(at).toISOString(),
    SignatureVersion: "2",
    SigningCertURL: CERTIFICATE_URL,
    ...more,
  };
}

export function arriveMessage(at: number, message: Record<string, string>): ArrivedRequest {
  const headers = { "content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": message["Type"] };
  return arrive("sns", { at, body: json(message), headers });
}

function signed(at: number, more: Record<string, string> = {}): Record<string, string> {
  return signMessage(notificationAt(at, more));
}

export const fixture: SourceFixture = {
  kind,
  settings: settingsOf("sns", [], { topic_arns: [TOPIC] }),
  sign: (at) => arriveMessage(at, signed(at)),
  expected: { type: "aws-sns.notification", identity: ID },
  // Some of its members: spaces between them, and others, are nobody's.
  coversBody: false,
  forgeries: [
    { name: "another message", request: (at) => arriveMessage(at, { ...signed(at), Message: "Give me all" }) },
    { name: "another subject", request: (at) => arriveMessage(at, { ...signed(at), Subject: "other" }) },
    { name: "another topic", request: (at) => arriveMessage(at, signed(at, { TopicArn: `${TOPIC}2` })) },
    { name: "no signature", request: (at) => arriveMessage(at, notificationAt(at)) },
    { name: "an unknown version", request: (at) => arriveMessage(at, signed(at, { SignatureVersion: "3" })) },
    ...[
      "https://sns.us-west-2.amazonaws.com.example.com/SimpleNotificationService-f3ec.pem",
      "https://example.com/sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ec.pem",
      "https://sns.us-west-2.amazonaws.com@example.com/SimpleNotificationService-f3ec.pem",
      "https://sns.us-west-2.amazonaws.com:8443/SimpleNotificationService-f3ec.pem",
      "http://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ec.pem",
      "https://bucket.s3.amazonaws.com/SimpleNotificationService-f3ec.pem",
      "https://sns.us-west-2.amazonaws.com/?Action=GetTopicAttributes.pem",
      "file:///etc/passwd",
      "no url",
    ].map((url) => ({
      name: `a certificate from ${url}`,
      request: (at: number) => arriveMessage(at, signed(at, { SigningCertURL: url })),
    })),
    {
      // What SNS really signed is a message to the attacker's topic that ends in these lines.
      name: "a message to another topic whose lines read as one to this topic",
      request: (at) => {
        const time = new Date(at).toISOString();
        const inner = `evil\nMessageId\n1\nTimestamp\n${time}\nTopicArn\n${TOPIC}\nType\nNotification`;
        const theirs = signed(at, { TopicArn: `${TOPIC}2`, Message: inner });
        const rest = `\nMessageId\n${ID}\nSubject\nMy First Message\nTimestamp\n${time}\nTopicArn\n${TOPIC}2\nType\nNotification`;
        const ours = { ...theirs, Message: "evil", MessageId: "1", TopicArn: TOPIC, Type: `Notification${rest}` };
        const { Subject: _subject, ...read } = ours as Record<string, string>;
        return arriveMessage(at, read);
      },
    },
    { name: "what is no message", request: (at) => withBody(fixture.sign(at), Buffer.from("{")) },
  ],
};
