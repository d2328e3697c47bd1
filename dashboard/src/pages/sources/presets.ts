/** How a kind is called, and where its provider wants the URL. Kinds without a line here are shown by their name. */
const PRESETS: Readonly<Record<string, { label: string; hint: string }>> = {
  generic: { label: "Any sender", hint: "Paste the URL wherever the sender asks for one." },
  "api-key": { label: "API key", hint: "The sender puts one of the secrets into a header." },
  basic: { label: "Basic authentication", hint: "The secret is USER:PASSWORD, which the sender logs in with." },
  hmac: { label: "HMAC signature", hint: "The options say which header holds the signature, and what is signed." },
  "standard-webhooks": { label: "Standard Webhooks", hint: "The secret begins with whsec_." },
  "aws-sns": { label: "Amazon SNS", hint: "Create an HTTPS subscription of the topic. It is confirmed by itself." },
  discord: { label: "Discord", hint: "Developer portal → your application → Interactions endpoint URL." },
  dropbox: { label: "Dropbox", hint: "App console → Webhooks → Webhook URIs. The secret is the app secret." },
  github: {
    label: "GitHub",
    hint: "Settings → Webhooks → Add webhook. Choose the content type application/json and enter the secret.",
  },
  gitlab: { label: "GitLab", hint: "Settings → Webhooks. Enter the secret as the secret token." },
  hubspot: { label: "HubSpot", hint: "Your app → Webhooks → Target URL. The secret is the client secret." },
  linear: { label: "Linear", hint: "Settings → API → Webhooks. The secret is the signing secret." },
  "microsoft-graph": { label: "Microsoft Graph", hint: "Create a subscription with this URL as notificationUrl." },
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
