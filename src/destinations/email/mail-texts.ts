import type { Template, TemplatePlace } from "../../sandbox/templates/templates.ts";
import { isTemplate } from "../is-template.ts";

/** The texts of an e-mail before they are checked. */
export interface MailTexts {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly replyTo: string | undefined;
  readonly subject: string | undefined;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly listUnsubscribe: string | undefined;
}

export function templatesAmong(texts: MailTexts): readonly Template[] {
  const found: Template[] = [];
  mapTemplates(texts, (template) => {
    found.push(template);
    return "";
  });
  return found;
}

/** `rendered` has one text for each template of `templatesAmong`, in the same order. */
export function fillTexts(texts: MailTexts, rendered: readonly string[]): MailTexts {
  let next = 0;
  return mapTemplates(texts, () => rendered[next++] ?? "");
}

function mapTemplates(texts: MailTexts, map: (template: Template) => string): MailTexts {
  const mapOne = (name: string, place: TemplatePlace, text: string) =>
    isTemplate(text) ? map({ name, text, place }) : text;
  const line = (name: string) => (text: string) => mapOne(name, "header", text);
  const optional = (name: string, place: TemplatePlace, text: string | undefined) =>
    text === undefined ? undefined : mapOne(name, place, text);
  return {
    to: texts.to.map(line("to")),
    cc: texts.cc.map(line("cc")),
    bcc: texts.bcc.map(line("bcc")),
    replyTo: optional("reply_to", "header", texts.replyTo),
    subject: optional("subject", "header", texts.subject),
    text: optional("text", "text", texts.text),
    html: optional("html", "html", texts.html),
    listUnsubscribe: optional("list_unsubscribe", "url", texts.listUnsubscribe),
  };
}
