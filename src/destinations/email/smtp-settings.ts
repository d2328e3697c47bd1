import { readFileSync } from "node:fs";
import { PosthornError } from "../../model/errors.ts";
import { parseMailAddress, type MailAddress, parseSmtpUrl, type SmtpServer } from "../../model/mail.ts";
import type { SmtpConfig } from "../message-config.ts";
import type { DkimKey } from "./compose.ts";

/** The SMTP configuration as the sender uses it. */
export interface SmtpSettings {
  readonly server: SmtpServer;
  readonly from: MailAddress;
  readonly ca: string | undefined;
  readonly dkim: DkimKey | undefined;
  readonly maxConnections: number;
  readonly messagesPerConnection: number;
}

/** Undefined when no SMTP server is configured. */
export function readSmtpConfig(config: SmtpConfig | undefined): SmtpSettings | undefined {
  if (config?.url === undefined || config.from === undefined) return undefined;
  const { dkimDomain: domain, dkimSelector: selector, dkimKey: key, caFile } = config;
  const { maxConnections, messagesPerConnection } = config;
  const hasDkim = domain !== undefined && selector !== undefined && key !== undefined;
  return {
    server: getParsed("smtp.url", parseSmtpUrl(config.url, config.tls)),
    from: getParsed("smtp.from", parseMailAddress(config.from)),
    ca: caFile === undefined ? undefined : readFileSync(caFile, "utf8"),
    dkim: hasDkim ? { domain, selector, key } : undefined,
    maxConnections,
    messagesPerConnection,
  };
}

function getParsed<Value>(setting: string, parsed: Value | string): Value {
  if (typeof parsed !== "string") return parsed;
  throw new PosthornError("config_invalid", `${setting} ${parsed}.`, { field: setting });
}
