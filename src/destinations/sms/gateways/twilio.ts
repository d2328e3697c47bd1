import { parseObject } from "../../json.ts";
import type { GatewayAnswer, SmsGateway } from "./gateway.ts";

const ORIGIN = "https://api.twilio.com";
const SID = /^[A-Za-z0-9]{1,64}$/;

/** www.twilio.com/docs/messaging/api/message-resource. */
export const TWILIO: SmsGateway = {
  needs: ["account_sid", "auth_token"],
  excludes: ["headers", "body", "success"],
  check: ({ account_sid: account, from, messaging_service_sid: service }) => [
    ["account_sid", account && !SID.test(account) && "is not an account SID"],
    ["from", Boolean(from) === Boolean(service) && "give `from` or `messaging_service_sid`, not both"],
  ],
  urlOf: ({ url }) => url ?? ORIGIN,
  write({ to, text }, { account_sid: account, auth_token: token, from, messaging_service_sid: service, url }) {
    const sender: Record<string, string> = service ? { MessagingServiceSid: service } : { From: from ?? "" };
    const login = Buffer.from(`${account}:${token}`, "utf8").toString("base64");
    return {
      method: "POST",
      url: `${(url ?? ORIGIN).replace(/\/+$/, "")}/2010-04-01/Accounts/${account}/Messages.json`,
      contentType: "application/x-www-form-urlencoded",
      headers: { Authorization: `Basic ${login}` },
      body: new URLSearchParams({ To: to, ...sender, Body: text }).toString(),
    };
  },
  findObjection(answer) {
    const message = readMessage(answer);
    if (message === undefined) return { reason: "Twilio's answer is not JSON", isFinal: false };
    const { error_code: code, status } = message;
    const hasFailed = status === "failed" || status === "undelivered";
    if ((code ?? null) === null && !hasFailed) return undefined;
    return { reason: `Twilio says ${hasFailed ? status : "failed"}${describeCode(code)}`, isFinal: true };
  },
  describeFailure(answer) {
    const { code } = readMessage(answer) ?? {};
    return typeof code === "number" ? `Twilio says${describeCode(code)}` : undefined;
  },
  factsOf(answer) {
    const { sid, num_segments: segments } = readMessage(answer) ?? {};
    return { ...(sid !== undefined && { gateway_id: sid }), ...(segments && { gateway_segments: Number(segments) }) };
  },
};

interface TwilioAnswer {
  sid?: string;
  status?: string;
  num_segments?: string;
  /** The error of a message. */
  error_code?: number | null;
  /** The error of a rejected request. */
  code?: number;
}

function readMessage({ body }: GatewayAnswer): TwilioAnswer | undefined {
  return parseObject(body);
}

function describeCode(code: unknown): string {
  return typeof code === "number" ? ` ${code}` : "";
}
