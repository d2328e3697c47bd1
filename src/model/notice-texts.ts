import type { SubscriptionInput } from "./subscription.ts";

/**
 * The default texts of the gateway's own events in e-mails and SMS. They are templates: events of different types have
 * different members, and missing members are left out.
 */
const SUBJECT =
  "{% if data.summary %}[{{ data.severity }}] {{ data.summary | truncate: 150 }}" +
  "{% else %}{{ event.type }}: {{ data.name }}{% endif %}";

const TEXT = `{% if data.summary %}{{ data.summary }}
{% for cause in data.causes %}
- {{ cause.name }}{% if cause.tenant_id %} ({{ cause.tenant_id }}){% endif %}: {{ cause.value }}{% if cause.detail %}, {{ cause.detail }}{% endif %}{% endfor %}
{% else %}{{ event.type }}: {{ data.name }}{% if data.reason %}
{{ data.reason }}{% endif %}{% if data.overlap_ends_at %}
Both secrets sign until {{ data.overlap_ends_at }}.{% endif %}
{% endif %}{% if data.action_required %}
{{ data.action_required }}.
{% endif %}{% if data.alert_id %}
{{ data.alert_id }}{% else %}
{{ data.webhook_id }}{% endif %}
`;

const SHORT_TEXT =
  "{% if data.summary %}[{{ data.severity }}] {{ data.summary | truncate: 300 }}" +
  "{% else %}{{ event.type }}: {{ data.name }}. {{ data.action_required }}{% endif %}";

const TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  email: { subject: SUBJECT, text: TEXT },
  sms: { text: SHORT_TEXT },
};

export function addTexts(input: SubscriptionInput): SubscriptionInput {
  const texts = TEXTS[input.kind ?? ""];
  return texts === undefined ? input : { ...input, destination: { ...texts, ...input.destination } };
}
