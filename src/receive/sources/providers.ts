import { apiKey } from "./api-key.ts";
import { createAwsSns } from "./aws-sns.ts";
import { basic } from "./basic.ts";
import { discord } from "./discord.ts";
import { dropbox } from "./dropbox.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { hmac } from "./hmac.ts";
import { hubspot } from "./hubspot.ts";
import { linear } from "./linear.ts";
import { mailgun } from "./mailgun.ts";
import { meta } from "./meta.ts";
import { microsoftGraph } from "./microsoft-graph.ts";
import { none } from "./none.ts";
import { createPaypal } from "./paypal.ts";
import { sendgrid } from "./sendgrid.ts";
import { shopify } from "./shopify.ts";
import { slack } from "./slack.ts";
import type { SourceKind } from "./source-kind.ts";
import { square } from "./square.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { twilio } from "./twilio.ts";
import { zendesk } from "./zendesk.ts";
import { zoom } from "./zoom.ts";

export interface ProviderServices {
  /** The text at an https URL, by GET through the guarded client; rejects unless the answer is a 200 of modest size. */
  fetchText(url: string): Promise<string>;
}

/** Every kind of source but `generic` and `smartsheet`. */
export function createProviderKinds(services: ProviderServices): readonly SourceKind[] {
  return [
    apiKey,
    createAwsSns(services),
    basic,
    discord,
    dropbox,
    github,
    gitlab,
    hmac,
    hubspot,
    linear,
    mailgun,
    meta,
    microsoftGraph,
    none,
    createPaypal(services),
    sendgrid,
    shopify,
    slack,
    square,
    standardWebhooks,
    stripe,
    twilio,
    zendesk,
    zoom,
  ];
}
