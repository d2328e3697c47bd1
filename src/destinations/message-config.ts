import type { TlsMode } from "../model/mail.ts";

/** The gateway's configuration for e-mail. */
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
  /** E-mails per minute of one tenant. */
  readonly tenantRate: number;
  readonly allowTenants: boolean;
}

/** The gateway's configuration for SMS. */
export interface SmsConfig {
  readonly defaultCountry?: string | undefined;
  /** Messages per hour to one number. */
  readonly numberRate: number;
  /** Messages per minute of one tenant. */
  readonly tenantRate: number;
  readonly allowTenants: boolean;
}
