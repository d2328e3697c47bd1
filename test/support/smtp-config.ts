import type { SmtpConfig } from "../../src/destinations/sender.ts";

/** As the configuration has it where nothing is said; `url` is the test's. */
export const SMTP_CONFIG: SmtpConfig = {
  from: "Posthorn <gateway@example.com>",
  tls: "auto",
  maxConnections: 5,
  messagesPerConnection: 100,
  tenantRate: 1_000_000,
  allowTenants: false,
};
