/** How a kind is called, and where its provider wants the URL. */
const PRESETS: Readonly<Record<string, { label: string; hint: string }>> = {
  generic: { label: "Any sender", hint: "Paste the URL wherever the sender asks for one." },
  "api-key": { label: "API key", hint: "The sender puts one of the secrets into a header." },
  basic: { label: "Basic authentication", hint: "The secret is USER:PASSWORD, which the sender logs in with." },
  hmac: { label: "HMAC signature", hint: "The options say which header holds the signature, and what is signed." },
  "standard-webhooks": { label: "Standard Webhooks", hint: "The secret begins with whsec_." },
  "aws-sns": { label: "Amazon SNS", hint: "Create an HTTPS subscription of the topic. It is confirmed by itself." },
  cloudevents: { label: "CloudEvents", hint: "The sender proves itself with one of the secrets, as a bearer token." },
  discord: { label: "Discord", hint: "Developer portal → your application → Interactions endpoint URL." },
  dropbox: { label: "Dropbox", hint: "App console → Webhooks → Webhook URIs. The secret is the app secret." },
  "event-grid": {
    label: "Azure Event Grid",
    hint: "Create an event subscription with this URL as its webhook. It is confirmed by itself.",
  },
  github: {
    label: "GitHub",
    hint: "Settings → Webhooks → Add webhook. Choose the content type application/json and enter the secret.",
  },
  gitlab: { label: "GitLab", hint: "Settings → Webhooks. Enter the secret as the secret token." },
  hubspot: { label: "HubSpot", hint: "Your app → Webhooks → Target URL. The secret is the client secret." },
  linear: { label: "Linear", hint: "Settings → API → Webhooks. The secret is the signing secret." },
  mailgun: {
    label: "Mailgun",
    hint: "Sending → Webhooks → Add webhook. The secret is the HTTP webhook signing key of your account.",
  },
  meta: {
    label: "Meta (Facebook, Instagram, WhatsApp)",
    hint: "Your app → Webhooks → Callback URL. The secret is the app secret; the verify token is below.",
  },
  "microsoft-graph": { label: "Microsoft Graph", hint: "Create a subscription with this URL as notificationUrl." },
  none: { label: "No verification", hint: "Anybody who knows the URL can send: give it a token in its path." },
  paypal: { label: "PayPal", hint: "Your app → Webhooks → Add webhook. Then enter the id of the webhook below." },
  sendgrid: {
    label: "SendGrid",
    hint: "Mail settings → Event webhooks. The secret is the verification key of the signed webhook.",
  },
  shopify: { label: "Shopify", hint: "Settings → Notifications → Webhooks. The secret is shown below the list." },
  slack: { label: "Slack", hint: "Your app → Event Subscriptions → Request URL. The secret is the signing secret." },
  smartsheet: { label: "Smartsheet", hint: "Register the sheets of the manifest below." },
  square: { label: "Square", hint: "Developer console → Webhooks → Subscriptions. The secret is the signature key." },
  stripe: { label: "Stripe", hint: "Developers → Webhooks → Add endpoint. The secret begins with whsec_." },
  twilio: { label: "Twilio", hint: "Enter it as the webhook URL of the number. The secret is the auth token." },
  zendesk: { label: "Zendesk", hint: "Admin Center → Apps and integrations → Webhooks." },
  zoom: { label: "Zoom", hint: "App Marketplace → your app → Event Subscriptions. The secret is the secret token." },
  amqp: { label: "RabbitMQ queue", hint: "" },
  "azure-service-bus": { label: "Azure Service Bus queue", hint: "" },
  "azure-storage-queue": { label: "Azure Storage queue", hint: "" },
};

export function labelOfKind(kind: string): string {
  return PRESETS[kind]?.label ?? kind;
}

export function hintOfKind(kind: string): string {
  return PRESETS[kind]?.hint ?? "Paste the URL into the settings for webhooks of the provider.";
}
