import { PosthornError } from "../../model/errors.ts";
import { DELIVERED, deliveredWith, failed, refused, type Outcome } from "../../model/outcome.ts";
import { describeServer } from "../../model/mail.ts";
import { createAttemptRuns, type AttemptRun } from "../attempt-runs.ts";
import { keepOwnRecord } from "../own-record.ts";
import { ONE_BY_ONE, type Attempt, type Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { renderAll } from "../render-all.ts";
import { unrendered } from "../templated.ts";
import { createTenantRates } from "../tenant-rates.ts";
import { createComposer, messageIdOf, type MailFields } from "./compose.ts";
import { checkFields, takeFromPayload } from "./mail-fields.ts";
import { fillTexts } from "./mail-texts.ts";
import { findOpen, noteAnswer, type OpenRecipients, type RecipientStates } from "./recipients.ts";
import type { EmailDestination, EmailSettings } from "./settings.ts";
import { judgeAnswer, judgeError } from "./smtp-outcome.ts";
import { openSmtpPool, type SmtpResult } from "./smtp-pool.ts";
import { readSmtpConfig } from "./smtp-settings.ts";

const NO_SERVER = "no SMTP server is configured; set POSTHORN_SMTP_URL and POSTHORN_SMTP_FROM";

export function openEmailSender(services: SenderServices): Sender<EmailSettings> {
  const { clock, smtp: config } = services;
  const smtp = readSmtpConfig(config);
  const place = smtp === undefined ? "smtp:" : describeServer(smtp.server);
  const rateOf = createTenantRates(config?.tenantRate ?? Number.MAX_SAFE_INTEGER);
  const runs = createAttemptRuns({
    clock,
    farEnd: "the SMTP server",
    emptyRecord: () => keepOwnRecord(place, {}),
  });
  const composer = smtp && createComposer(smtp.from, smtp.dkim);
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

  async function sendOne(attempt: Attempt, run: AttemptRun): Promise<void> {
    if (smtp === undefined || composer === undefined || pool === undefined) return run.end(failed(NO_SERVER));
    const fields = await findFields(attempt);
    if ("kind" in fields) return run.end(fields);
    const all = [...new Set([...fields.to, ...fields.cc, ...fields.bcc].map(({ address }) => address))];
    const recipients = findOpen(all, attempt.earlier, attempt.generation);
    const messageId = messageIdOf(attempt, services.origin, smtp.from);
    const record = (facts: object) => keepOwnRecord(place, { message_id: messageId, ...facts });
    if (recipients.open.length === 0) return run.end(DELIVERED, record(recipients.before));
    const { deliveryId, event, subscription } = attempt;
    const facts = { messageId, deliveryId, eventType: event.type, sentAt: clock.wall() };
    const message = await composer.compose(fields, facts);
    if (run.isOver) return;
    const envelope = { from: smtp.from.address, to: recipients.open };
    const sending = pool.send({ owner: subscription.tenantId, envelope, message }, (result) => {
      const { outcome, states } = judge(result, recipients);
      const response = "answered" in result ? result.answered.response : undefined;
      run.end(outcome, record({ size: message.length, response, ...states }));
    });
    run.onGivenUp(sending.giveUp);
  }

  return {
    isForOperators: config?.allowTenants !== true,
    limitsOf: ({ tenantId }) => ({ ...ONE_BY_ONE, sharedRate: rateOf(tenantId, clock.now()) }),
    send(attempts, done) {
      const [attempt] = attempts as [Attempt];
      runs.begin(attempt, done, (run) => sendOne(attempt, run));
    },
    refuse() {
      if (smtp !== undefined) return;
      throw new PosthornError("invalid_field", `kind: ${NO_SERVER}.`, { field: "kind" });
    },
    close() {
      runs.close();
      pool?.close();
      return Promise.resolve();
    },
  };
}

function judge(result: SmtpResult, recipients: OpenRecipients): { outcome: Outcome; states: RecipientStates } {
  const isTaken = "answered" in result;
  const { outcome, faults } = isTaken ? judgeAnswer(result.answered) : judgeError(result.error);
  const states = noteAnswer(recipients, isTaken, faults);
  // Other recipients had it before: no further recipient can be reached, so the delivery counts as delivered.
  const isLastRefusal = outcome.kind === "refused" && states.accepted.length > 0;
  return { outcome: isLastRefusal ? deliveredWith(`${outcome.error}; the others have it`) : outcome, states };
}
