import { PosthornError } from "../../model/errors.ts";
import { DELIVERED, failed, refused, type Outcome } from "../../model/outcome.ts";
import { describeServer, parseSmtpUrl, parseMailAddress } from "../../model/mail.ts";
import { createAttemptFrame, type AttemptRun } from "../attempt-frame.ts";
import { keepOwnRecord } from "../own-record.ts";
import { ONE_BY_ONE, type Attempt, type Sender, type SenderServices, type SmtpConfig } from "../sender.ts";
import { renderAll, unrendered } from "../templated.ts";
import { createTenantRates } from "../message-rates.ts";
import { checkFields, compose, type MailFields, messageIdOf, takeFromPayload } from "./compose.ts";
import { fillTexts, type EmailDestination, type EmailSettings } from "./settings.ts";
import { conclude, findOpen } from "./recipients.ts";
import { openSmtpPool } from "./smtp-pool.ts";
import { readFileSync } from "node:fs";

const NO_SERVER = "no SMTP server is configured; set POSTHORN_SMTP_URL and POSTHORN_SMTP_FROM";

export function openEmailSender(services: SenderServices): Sender<EmailSettings> {
  const { clock, smtp: config } = services;
  const smtp = readSmtpConfig(config);
  const place = smtp === undefined ? "smtp:" : describeServer(smtp.server);
  const rateOf = createTenantRates(config?.tenantRate ?? Number.MAX_SAFE_INTEGER);
  const frame = createAttemptFrame({
    clock,
    lateOf: () => "the SMTP server did not accept it",
    recordOf: () => keepOwnRecord(place, {}),
  });
  const pool = smtp && openSmtpPool({ ...smtp, clock });

  async function findFields(attempt: Attempt): Promise<MailFields | Outcome> {
    const { texts: own, templates, takesPayload } = attempt.subscription.destination as EmailDestination;
    const rendered = await renderAll(services.templates, templates, attempt);
    if ("fault" in rendered) return unrendered(rendered);
    const filled = fillTexts(own, rendered.texts);
    const texts = takesPayload ? takeFromPayload(attempt, filled) : filled;
    const fields = typeof texts === "string" ? texts : checkFields(texts);
    return typeof fields === "string" ? refused(fields, { result: "blocked", says: "nothing" }) : fields;
  }

  async function sendOne(run: AttemptRun): Promise<void> {
    const { attempt } = run;
    if (smtp === undefined || pool === undefined) return run.end(failed(NO_SERVER));
    const fields = await findFields(attempt);
    if ("kind" in fields) return run.end(fields);
    const all = [...new Set([...fields.to, ...fields.cc, ...fields.bcc].map(({ address }) => address))];
    const recipients = findOpen(all, attempt.earlier, attempt.generation);
    const messageId = messageIdOf(attempt, services.origin, smtp.from);
    const record = (facts: object) => keepOwnRecord(place, { message_id: messageId, ...facts });
    if (recipients.open.length === 0) return run.end(DELIVERED, record(recipients.before));
    const { deliveryId, event, subscription } = attempt;
    const facts = { messageId, deliveryId, eventType: event.type, sentAt: clock.wall() };
    const message = await compose(smtp, fields, facts);
    if (run.outcome !== undefined) return;
    const envelope = { from: smtp.from.address, to: recipients.open };
    const sending = pool.send({ owner: subscription.tenantId, envelope, message }, (result) => {
      const { outcome, states } = conclude(result, recipients);
      const response = "answered" in result ? result.answered.response : undefined;
      run.end(outcome, record({ size: message.length, response, ...states }));
    });
    run.giveUp = sending.giveUp;
  }

  return {
    limitsOf: ({ tenantId }) => ({ ...ONE_BY_ONE, sharedRate: rateOf(tenantId, clock.now()) }),
    send: (attempts, done) => void frame.begin(attempts, done, sendOne),
    rules: {
      isForOperators: config?.allowTenants !== true,
      check() {
        if (smtp !== undefined) return;
        throw new PosthornError("invalid_field", `kind: ${NO_SERVER}.`, { field: "kind" });
      },
    },
    close() {
      frame.close();
      pool?.close();
      return Promise.resolve();
    },
  };
}

/** Undefined when no SMTP server is configured. */
export function readSmtpConfig(config: SmtpConfig | undefined) {
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
