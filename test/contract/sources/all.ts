import type { SourceFixture } from "../source-fixture.ts";
import { fixture as apiKey } from "./api-key.ts";
import { fixture as awsSns } from "./aws-sns.ts";
import { fixture as basic } from "./basic.ts";
import { fixture as cloudevents } from "./cloudevents.ts";
import { fixture as discord } from "./discord.ts";
import { fixture as dropbox } from "./dropbox.ts";
import { fixture as eventGrid } from "./event-grid.ts";
import { fixture as github } from "./github.ts";
import { fixture as gitlab } from "./gitlab.ts";
import { fixture as gitlabSigned } from "./gitlab-signed.ts";
import { fixture as hmac } from "./hmac.ts";
import { fixture as hubspot } from "./hubspot.ts";
import { fixture as linear } from "./linear.ts";
import { fixture as mailgun } from "./mailgun.ts";
import { fixture as meta } from "./meta.ts";
import { fixture as microsoftGraph } from "./microsoft-graph.ts";
import { fixture as none } from "./none.ts";
import { fixture as paypal } from "./paypal.ts";
import { fixture as sendgrid } from "./sendgrid.ts";
import { fixture as shopify } from "./shopify.ts";
import { fixture as slack } from "./slack.ts";
import { fixture as square } from "./square.ts";
import { fixture as standardWebhooks } from "./standard-webhooks.ts";
import { fixture as stripe } from "./stripe.ts";
import { fixture as svix } from "./svix.ts";
import { fixture as twilio } from "./twilio.ts";
import { fixture as zendesk } from "./zendesk.ts";
import { fixture as zoom } from "./zoom.ts";

/** By a name of their own: a kind may have several. */
export const PROVIDER_FIXTURES: Readonly<Record<string, SourceFixture>> = {
  "api-key": apiKey,
  "aws-sns": awsSns,
  basic,
  cloudevents,
  discord,
  dropbox,
  "event-grid": eventGrid,
  github,
  gitlab,
  "gitlab (signed)": gitlabSigned,
  hmac,
  hubspot,
  linear,
  mailgun,
  meta,
  "microsoft-graph": microsoftGraph,
  none,
  paypal,
  sendgrid,
  shopify,
  slack,
  square,
  "standard-webhooks": standardWebhooks,
  stripe,
  "standard-webhooks (svix)": svix,
  twilio,
  zendesk,
  zoom,
};
