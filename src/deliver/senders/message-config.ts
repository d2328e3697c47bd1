import type { TlsMode } from "../../domain/smtp.ts";

/** What the configuration of the gateway says of e-mail. */
export interface SmtpConfig {
  readonly url?: string | undefined;
  readonly from?: string | undefined;
  readonly tls: TlsMode;
  readonly caFile?: string | undefined;
  readonly dkimDomain?: string | undefined;
  readonly dkimSelector?: string | undefined;
  readonly dkimKey?: string | undefined;
  readonly maxConnections: number;
  readonly messagesPerConnection: number;
  /** E-mails a minute of one tenant. */
  readonly tenantRate: number;
  readonly allowTenants: boolean;
}

/** The same of SMS. */
export interface SmsConfig {
  readonly defaultCountry?: string | undefined;
  /** Messages an hour to one number. */
  readonly numberRate: number;
  /** Messages a minute of one tenant. */
  readonly tenantRate: number;
}
