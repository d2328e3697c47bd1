import { checkAllowedIps } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import type { SharedSettings } from "../../model/subscription.ts";
import { isPresetName } from "../../model/target-rules.ts";
import { checkDestinationAuth } from "../destination-auth-rules.ts";
import { findForwardedHeaderProblem } from "../forwarded-headers.ts";
import { findSignatureHeaderProblem } from "../outgoing-header.ts";
import { checkOwnHeaders } from "../own-headers.ts";
import { checkTemplates } from "./request-templates.ts";
import type { HttpSettings } from "./settings.ts";
import { findTemplateProblem } from "./url-template.ts";

export function checkHttpSettings(settings: HttpSettings, shared: SharedSettings): FieldProblem[] {
  return [
    ...checkHeaders(settings),
    ...checkAllowedIps(settings.allowed_ips, settings.url),
    ...checkDestinationAuth(settings.auth, settings.headers ?? {}),
    ...checkUrl(settings),
    ...checkForwardHeaders(settings),
    ...checkGiveUpOn(settings),
    ...checkAgent(settings, shared),
    ...checkTemplates(settings, shared),
  ];
}

function checkUrl({ url }: HttpSettings): FieldProblem[] {
  const message = findTemplateProblem(url);
  return message === undefined ? [] : [{ field: "url", message }];
}

function checkForwardHeaders({ forward_headers: names }: HttpSettings): FieldProblem[] {
  return (names ?? []).flatMap((name, i) => {
    const message = findForwardedHeaderProblem(name);
    return message === undefined ? [] : [{ field: `forward_headers[${i}]`, message }];
  });
}

function checkGiveUpOn({ give_up_on: statuses, retry_on: retryOn }: HttpSettings): FieldProblem[] {
  return (statuses ?? []).flatMap((status, i) =>
    retryOn?.statuses?.includes(status) === true
      ? [{ field: `give_up_on[${i}]`, message: `${status} is in retry_on.statuses too; remove it from one of the two` }]
      : [],
  );
}

/** n8n can be configured per workflow to refuse clients that call themselves a bot. */
function checkAgent({ headers }: HttpSettings, { target }: SharedSettings): FieldProblem[] {
  if (!isPresetName(target)) return [];
  return Object.entries(headers ?? {})
    .filter(([name, value]) => name.toLowerCase() === "user-agent" && /bot/i.test(value))
    .map(([name]) => ({ field: `headers.${name}`, message: "must not contain `bot`, which n8n refuses" }));
}

function checkHeaders(settings: HttpSettings): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const signatureHeader = settings.signature_header?.toLowerCase();
  const signatureProblem = signatureHeader === undefined ? undefined : findSignatureHeaderProblem(signatureHeader);
  if (signatureProblem !== undefined) problems.push({ field: "signature_header", message: signatureProblem });
  return [...problems, ...checkOwnHeaders(settings.headers, signatureHeader)];
}
