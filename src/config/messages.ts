import { Type } from "typebox";
import { parseMailAddress, parseSmtpUrl, TLS_MODES, type TlsMode } from "../model/mail.ts";
import { oneOf } from "../model/shape.ts";
import { flag, integer, settingText, withVariables } from "./setting-schema.ts";

export const Smtp = Type.Object(
  withVariables("POSTHORN_SMTP_", {
    url: settingText({
      secret: true,
      maxLength: 2048,
      description:
        "The server for destinations of the kind `email`: `smtps://user:password@host:465`, or `smtp://…:587`, which " +
        "switches to TLS with STARTTLS",
    }),
    from: settingText({
      maxLength: 320,
      description: "The sender of e-mail: `orders@example.com` or `Shop <orders@example.com>`",
    }),
    tls: Type.Unsafe<TlsMode>(
      Object.assign(oneOf(TLS_MODES), {
        default: "auto",
        description:
          "With `smtp://`: `auto` sends nothing without STARTTLS, except to this machine; `required` not even there; " +
          "`none` sends without encryption, and never sends a password to another machine",
      }),
    ),
    ca_file: settingText({
      path: true,
      description: "PEM file of certificates to trust instead of the system's",
    }),
    dkim_domain: settingText({
      pattern: "^[A-Za-z0-9.-]{1,253}$",
      description: "With `dkim_selector` and `dkim_key`, e-mail is signed for this domain",
    }),
    dkim_selector: settingText({
      pattern: "^[A-Za-z0-9._-]{1,63}$",
      description: "The selector of the public key in DNS: `<selector>._domainkey.<domain>`",
    }),
    dkim_key: settingText({ secret: true, maxLength: 16_384, description: "The private key, as PEM" }),
    max_connections: integer(5, { from: 1, to: 100 }, "Simultaneous connections to the server; tenants take turns"),
    messages_per_connection: integer(
      100,
      { from: 1, to: 100_000 },
      "E-mails after which a connection is replaced by a new one",
    ),
    tenant_rate: integer(
      120,
      { from: 1, to: 1_000_000 },
      "E-mails a minute for each tenant, over all of its subscriptions; further ones wait",
    ),
    allow_tenants: flag(
      false,
      "Whether keys that are bound to a tenant may create destinations of the kind `email`. They then decide what is sent " +
        "in your name, and to whom",
    ),
  }),
  { additionalProperties: false },
);

export const Sms = Type.Object(
  withVariables("POSTHORN_SMS_", {
    default_country: settingText({
      pattern: "^[A-Z]{2}$",
      hint: "give a country as two capital letters, for example DE",
      description: "The country of numbers without `+` and country code, unless the destination names one",
    }),
    number_rate: integer(
      30,
      { from: 1, to: 100_000 },
      "Messages an hour to one number for the events of each tenant, over all subscriptions; further ones wait",
    ),
    tenant_rate: integer(
      120,
      { from: 1, to: 1_000_000 },
      "Messages a minute for each tenant, over all of its subscriptions; further ones wait",
    ),
    allow_tenants: flag(
      false,
      "Whether keys that are bound to a tenant may create destinations of the kind `sms`. They then decide what is sent, " +
        "and to whom",
    ),
  }),
  { additionalProperties: false },
);

const DKIM = ["dkim_domain", "dkim_selector", "dkim_key"] as const;

/** Checks that the schema cannot express. */
export function checkSmtp(tree: Record<string, unknown>, complain: (path: string, message: string) => void): void {
  const section = (tree["smtp"] ?? {}) as Readonly<Record<string, unknown>>;
  const read = (name: string) => section[name];
  const [url, from, tls] = [read("url"), read("from"), read("tls")];
  const server = typeof url === "string" ? parseSmtpUrl(url, tls as TlsMode) : undefined;
  if (typeof server === "string") complain("smtp.url", server);
  const address = typeof from === "string" ? parseMailAddress(from) : undefined;
  if (typeof address === "string") complain("smtp.from", address);
  if (url !== undefined && from === undefined) complain("smtp.url", "also needs `from`, the sender of e-mail");
  const missing = DKIM.filter((name) => read(name) === undefined);
  const [first] = missing;
  if (first === undefined || missing.length === DKIM.length) return;
  const given = DKIM.find((name) => read(name) !== undefined) ?? first;
  complain(`smtp.${given}`, `also needs ${missing.join(" and ")}; set all three or none`);
}
