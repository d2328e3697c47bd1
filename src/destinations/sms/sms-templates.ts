import type { Template } from "../../sandbox/templates/templates.ts";
import { isTemplate } from "../is-template.ts";
import type { SmsSettings } from "./settings.ts";

/** The members of `message` in templates for the request to a gateway. */
const OWN = { message: ["to", "from", "text", "id"] };

/** A form is escaped like the query of a URL; this URL is put in front while it is rendered. */
const FORM_BASE = "https://form.invalid/?";

/** The templates of a message, and those of the request that contains it. */
export interface SmsTemplates {
  readonly message: readonly Template[];
  readonly request: readonly Template[];
}

type Filled = Readonly<Partial<Record<"to" | "text" | "url" | "body", string>>>;

export function smsTemplates(settings: SmsSettings): SmsTemplates {
  const { to, text, url, body } = settings;
  const message = [toTemplate("to", "header", to), toTemplate("text", "text", text)];
  const request = settings.gateway === "twilio" ? [] : [toTemplate("url", "url", url), bodyTemplate(settings, body)];
  const withOwn = request.flatMap((one) => (one === undefined ? [] : [{ ...one, own: OWN }]));
  return { message: message.filter((one) => one !== undefined), request: withOwn };
}

/** Rendered texts by the settings that their templates are in. */
export function toFilled(templates: readonly Template[], rendered: readonly string[]): Filled {
  const entries = templates.map(({ name }, i) => [name, rendered[i]?.replace(FORM_BASE, "")]);
  return Object.fromEntries(entries) as Filled;
}

function toTemplate(name: string, place: Template["place"], text: string | null | undefined): Template | undefined {
  return text && isTemplate(text) ? { name, text, place } : undefined;
}

function bodyTemplate({ content_type: type }: SmsSettings, body: string | null | undefined): Template | undefined {
  switch (type) {
    case "application/x-www-form-urlencoded":
      return toTemplate("body", "url", body && FORM_BASE + body);
    case "text/xml":
      return toTemplate("body", "html", body);
    case "text/plain":
      return toTemplate("body", "text", body);
    default:
      return toTemplate("body", "json", body);
  }
}
