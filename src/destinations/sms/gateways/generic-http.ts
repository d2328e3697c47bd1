import { findHeaderProblem } from "../../outgoing-header.ts";
import type { SmsSettings, SuccessRule } from "../schema.ts";
import {
  findForeign,
  findMissing,
  type SmsGateway,
  type SmsMessage,
  parseAnswer,
  type GatewayAnswer,
} from "./gateway.ts";
import { parsePointer } from "../../../model/json.ts";
import type { FieldProblem } from "../../../model/subscription-rules.ts";

const NO_RULE =
  "destination.success is not set: every 2xx answer counts as delivered, also one whose body reports an error. " +
  'If the gateway answers in that way, say what its answer contains when it has accepted a message, for example {"pointer": "/status", "equals": "ok"}.';

/** Any other service that accepts a message as one HTTP request. */
export const GENERIC_HTTP: SmsGateway = {
  name: "generic-http",
  check(settings) {
    const { headers, success, method, body, content_type: contentType } = settings;
    const problems = [
      ...findMissing(settings, GENERIC_HTTP, ["url"]),
      ...findForeign(settings, GENERIC_HTTP, ["account_sid", "auth_token", "messaging_service_sid"]),
      ...(success ? checkSuccessRule(success) : []),
    ];
    for (const [name, value] of Object.entries(headers ?? {})) {
      const problem = findHeaderProblem(name, value);
      if (problem !== undefined) problems.push({ field: "headers", message: `${name} ${problem}` });
    }
    if (contentType === "text/xml" && !body)
      problems.push({ field: "body", message: "is missing; text/xml has no default body" });
    if (method === "GET" && body)
      problems.push({ field: "body", message: "a GET request has no body; put its values into `url`" });
    return problems;
  },
  warnOf: ({ success }) => (success ? [] : [NO_RULE]),
  urlOf: ({ url }) => url ?? "",
  write(message, settings) {
    const { url, method = "POST", content_type: contentType = "application/json" } = settings;
    return {
      method,
      url: url ?? "",
      contentType,
      headers: { "Idempotency-Key": message.id, ...settings.headers },
      body: method === "GET" ? "" : (settings.body ?? writeUsual(message, settings)),
    };
  },
  findObjection(answer, { success }) {
    const reason = success ? findMisfit(answer, success) : undefined;
    // Only the gateway knows how it reports an invalid number, so no objection is final.
    return reason === undefined ? undefined : { reason: `the gateway ${reason}`, isFinal: false };
  },
};

/** The default body. */
function writeUsual({ to, text, id }: SmsMessage, { from, content_type: contentType }: SmsSettings): string {
  const fields = { to, ...(from && { from }), text, id };
  if (contentType === "application/x-www-form-urlencoded") return new URLSearchParams(fields).toString();
  return contentType === "text/plain" ? text : JSON.stringify(fields);
}

/** Some gateways answer 200 and say in the body that they did not accept the message. */

function checkSuccessRule(rule: SuccessRule): FieldProblem[] {
  const { pointer, equals, contains } = rule;
  const field = "success";
  if (equals !== undefined && contains !== undefined) return [{ field, message: "give `equals` or `contains`" }];
  if (equals !== undefined && pointer === undefined) return [{ field, message: "`equals` needs a `pointer`" }];
  if (pointer === undefined) return [];
  try {
    parsePointer(pointer);
  } catch (error) {
    return [{ field: "success.pointer", message: (error as Error).message }];
  }
  const hasRule = equals !== undefined || contains !== undefined;
  return hasRule ? [] : [{ field, message: "`pointer` needs `equals` or `contains` beside it" }];
}

/** Where an answer differs from the rule, without its text; undefined when it fits. */
function findMisfit(answer: GatewayAnswer, rule: SuccessRule): string | undefined {
  const { statuses, pointer, equals, contains } = rule;
  if (statuses !== undefined && !statuses.includes(answer.status)) return `answered ${answer.status}`;
  if (pointer === undefined) {
    const isThere = contains === undefined || answer.body.includes(contains);
    return isThere ? undefined : `answered ${answer.status} without ${JSON.stringify(contains)}`;
  }
  const value = findAt(parseAnswer(answer), parsePointer(pointer));
  const fits = contains === undefined ? value === equals : typeof value === "string" && value.includes(contains);
  if (fits) return undefined;
  return `answered ${answer.status}, but has ${value === undefined ? "nothing" : "another value"} at ${pointer}`;
}

function findAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
