import { presentOwnRecord } from "../own-record.ts";
import { secretSettings } from "../secret-settings.ts";
import type { DestinationKind } from "../sender.ts";
import { openSmsSender } from "./sender.ts";
import { checkSmsSettings } from "./settings-rules.ts";
import { smsTemplates } from "./sms-templates.ts";
import { prepareSms, presentSms, SmsSettings } from "./settings.ts";

/** SMS, through a gateway with an HTTP interface. */
export const SMS: DestinationKind<SmsSettings> = {
  name: "sms",
  settings: SmsSettings,
  operatorSettings: ["fields_from"],
  check: checkSmsSettings,
  templatesOf(settings) {
    const { message, request } = smsTemplates(settings);
    return [...message, ...request];
  },
  prepare: prepareSms,
  secrets: secretSettings<SmsSettings>(["auth_token", "headers"], ["gateway", "url", "account_sid"]),
  present: presentSms,
  presentRecord: presentOwnRecord,
  open: openSmsSender,
};
