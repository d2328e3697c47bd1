import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import type { DestinationKind } from "../sender.ts";
import { openEmailSender } from "./sender.ts";
import { checkEmailSettings } from "./settings-rules.ts";
import { EmailSettings, emailTemplates, prepareEmail, presentEmail } from "./settings.ts";

/** E-mail, through the SMTP server of the gateway. */
export const EMAIL: DestinationKind<EmailSettings> = {
  name: "email",
  settings: EmailSettings,
  operatorSettings: ["fields_from"],
  check: checkEmailSettings,
  templatesOf: emailTemplates,
  prepare: prepareEmail,
  secrets: secretSettings<EmailSettings>([], []),
  present: presentEmail,
  presentRecord: presentOwnRecord,
  open: openEmailSender,
};
