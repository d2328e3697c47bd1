import { verify as verifySignature } from "node:crypto";
import { Type } from "typebox";
import { PosthornError } from "../model/errors.ts";
import { scalarTextAt } from "../model/json.ts";
import { checkJsonText } from "../sandbox/text/json-text.ts";
import { createCertificates, findPlainUrl } from "./certificates.ts";
import { eventTypeOf, findTime, identityOf } from "./request-reading.ts";
import { kindOptions, textsOption } from "./kind-options.ts";
import { badSignature, findBase64 } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** A message has at most 256 KB, and escapes may make it longer. */
const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const HOST = /^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(?:\.cn)?$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[A-Za-z0-9]{1,64}\.pem$/;
const NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
const SIGNED_MEMBERS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ["Notification", NOTIFICATION],
  ["SubscriptionConfirmation", CONFIRMATION],
  ["UnsubscribeConfirmation", CONFIRMATION],
]);
const FREE_TEXTS: ReadonlySet<string> = new Set(["Message", "Subject"]);
const ALGORITHMS: ReadonlyMap<string | undefined, string> = new Map([
  ["1", "sha1"],
  ["2", "sha256"],
]);

/**
 * docs.aws.amazon.com/sns, HTTPS endpoints: signed with a certificate of SNS itself. Topics of all accounts have such
 * signatures, so only listed topics are accepted. Subscriptions to listed topics are confirmed automatically.
 */
export function createAwsSns({ fetchText }: { fetchText(url: string): Promise<string> }): PushedSourceKind {
  const certificates = createCertificates({ fetchText, host: HOST, path: CERTIFICATE_PATH });

  async function confirm(url: string): Promise<void> {
    const parsed = findPlainUrl(url, HOST);
    if (parsed === undefined) throw badSignature("SubscribeURL is not an address of SNS.");
    await fetchText(parsed.href).catch((error: unknown) => {
      throw new PosthornError("unavailable", "The subscription cannot be confirmed now.", {
        cause: error,
        retryAfterS: 60,
      });
    });
  }

  return {
    name: "aws-sns",
    options: kindOptions({
      topic_arns: Type.Array(Type.String({ pattern: "^arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:.{1,256}$" }), {
        minItems: 1,
        maxItems: 100,
        description: "Topics whose messages are accepted",
      }),
    }),
    needsSecret: false,
    async verify(request, settings) {
      const { body } = request;
      if (body.length > MAX_BYTES) throw new PosthornError("too_large", "The body is larger than any message of SNS.");
      const member = (name: string) => scalarTextAt(body, [name]);
      if (!textsOption(settings, "topic_arns").includes(member("TopicArn") ?? "")) {
        throw badSignature("TopicArn is not among the topics of this source.");
      }
      const algorithm = ALGORITHMS.get(member("SignatureVersion"));
      const signature = findBase64(member("Signature") ?? "");
      if (algorithm === undefined || signature === undefined) throw badSignature("The message is not signed.");
      const signed = signedText(member);
      const key = await certificates.publicKeyAt(member("SigningCertURL") ?? "", request.receivedAt);
      if (!verifySignature(algorithm, Buffer.from(signed, "utf8"), key, signature)) {
        throw badSignature("The signature does not match the message.");
      }
      if (member("Type") === "SubscriptionConfirmation") await confirm(member("SubscribeURL") ?? "");
    },
    events({ body }) {
      // SNS sends text/plain, and signs only some members.
      checkJsonText(body, MAX_DEPTH);
      const type = scalarTextAt(body, ["Type"]);
      if (type === "SubscriptionConfirmation") return { events: [], ignored: [{ cause: "handshake" }] };
      return {
        events: [
          {
            type: eventTypeOf("aws-sns", type),
            identity: identityOf(scalarTextAt(body, ["MessageId"])),
            occurredAt: findTime(scalarTextAt(body, ["Timestamp"])),
            contentType: "application/json",
          },
        ],
      };
    },
  };
}

/**
 * Values may contain line breaks: a message to somebody else's topic could be written so that its lines read as
 * a message to this one, but for a `Type` of many lines. So that must be a known word, and ids are of one line.
 */
function signedText(member: (name: string) => string | undefined): string {
  const names = SIGNED_MEMBERS.get(member("Type"));
  if (names === undefined) throw badSignature("Type is not a type of SNS.");
  let signed = "";
  for (const name of names) {
    const value = member(name);
    if (value === undefined && name === "Subject") continue;
    if (value === undefined || (!FREE_TEXTS.has(name) && /\s/.test(value))) {
      throw badSignature(`${name} is missing or contains a space.`);
    }
    signed += `${name}\n${value}\n`;
  }
  return signed;
}
