/**
 * The beginning of the chat templates: sets `title` and `text` for any event, and `tone`, which is `bad`, `good` or
 * `plain`. The texts are shorter than every chat's limit, even if each character counts twice.
 */
const CHAT_MESSAGE = `
{%- capture title -%}
  {%- case event.type -%}
    {%- when "webhook.suspended" -%} {{ data.name }} is suspended
    {%- when "webhook.failing" -%} {{ data.name }} is failing
    {%- when "webhook.resumed" -%} {{ data.name }} is active again
    {%- when "webhook.secret_rotating" -%} {{ data.name }} gets a new secret
    {%- when "webhook.delivery_dead" -%} Dead letter: {{ data.event_type }} for {{ data.name }}
    {%- when "gateway.mode_changed" -%} {{ data.target }} is in {{ data.mode }}
    {%- when "source.disabled" -%} The source {{ data.source }} is {{ data.status }}
    {%- when "alert.fired" -%} Alert: {{ data.summary | default: data.subject | default: data.code }}
    {%- when "alert.cleared" -%} {{ data.summary | default: data.subject | default: data.code }}
    {%- when "test.event" -%} A test of {{ subscription.name }}
    {%- else -%} {{ event.type }}
  {%- endcase -%}
{%- endcapture -%}
{%- assign tone = "plain" -%}
{%- capture text -%}
  {%- case event.type -%}
    {%- when "webhook.suspended", "webhook.failing", "source.disabled", "alert.fired" -%}
      {%- assign tone = "bad" -%}
      {%- if data.reason -%} {{ data.reason }}. {% endif -%} {{ data.action_required }}
    {%- when "webhook.delivery_dead" -%}
      {%- assign tone = "bad" -%}
      {{ data.error | default: data.reason }} (attempts: {{ data.attempts }}, delivery {{ data.delivery_id }})
    {%- when "webhook.resumed" -%}
      {%- assign tone = "good" -%}
      It was {{ data.previous_status }}.
    {%- when "alert.cleared" -%}
      {%- assign tone = "good" -%}
      {{ data.reason | default: data.code }}
    {%- when "gateway.mode_changed" -%}
      {%- if data.mode == "QUEUE" -%}{%- assign tone = "bad" -%}{%- else -%}{%- assign tone = "good" -%}{%- endif -%}
      {{ data.reason }}
    {%- when "webhook.secret_rotating" -%} {{ data.action_required }}
    {%- when "test.event" -%} It works.
    {%- else -%} {{ data }}
  {%- endcase -%}
{%- endcapture -%}
{%- assign title = title | strip | truncate: 120 -%}
{%- assign text = text | strip | truncate: 1400 | default: "-" -%}
`.trim();

/**
 * docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: at most 150 characters for a header, 3000 for a
 * section. `text` is shown in notifications, in Slack's own markup: so special characters are escaped and no user is
 * mentioned.
 */
const SLACK = `${CHAT_MESSAGE}
{
  "text": "{{ title | replace: '&', '&amp;' | replace: '<', '&lt;' | replace: '>', '&gt;' }}",
  "blocks": [
    {"type": "header", "text": {"type": "plain_text", "text": "{{ title }}", "emoji": false}},
    {"type": "section", "text": {"type": "plain_text", "text": "{{ text }}", "emoji": false}},
    {"type": "context", "elements": [
      {"type": "plain_text", "text": "{{ event.type }} · {{ event.source }} · {{ event.timestamp }} · {{ event.id }}", "emoji": false}
    ]}
  ]
}`;

/**
 * learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors: a webhook of Workflows accepts only Adaptive
 * Cards, of at most 28 KB. Unlike other blocks, a rich text block does not interpret Markdown.
 */
const TEAMS = `${CHAT_MESSAGE}
{
  "type": "message",
  "attachments": [{
    "contentType": "application/vnd.microsoft.card.adaptive",
    "contentUrl": null,
    "content": {
      "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
      "type": "AdaptiveCard",
      "version": "1.4",
      "msteams": {"width": "Full"},
      "body": [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "{{ title }}", "size": "Medium", "weight": "Bolder",
          "color": "{% if tone == "bad" %}Attention{% elsif tone == "good" %}Good{% else %}Default{% endif %}"}]},
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "{{ text }}"}]},
        {"type": "FactSet", "facts": [
          {"title": "Event", "value": "{{ event.type }}"},
          {"title": "Source", "value": "{{ event.source }}"},
          {"title": "Time", "value": "{{ event.timestamp }}"},
          {"title": "Id", "value": "{{ event.id }}"}
        ]}
      ]
    }
  }]
}`;

/**
 * discord.com/developers/docs/resources/webhook#execute-webhook: at most 2000 characters for `content`, 256 for an
 * embed's title, 4096 for its description, 6000 in all. No user is ever mentioned, whatever the payload contains.
 */
const DISCORD = `${CHAT_MESSAGE}
{
  "content": "{{ title }}",
  "embeds": [{
    "description": "{{ text }}",
    "color": {% if tone == "bad" %}15158332{% elsif tone == "good" %}3066993{% else %}9807270{% endif %},
    "timestamp": "{{ event.timestamp }}",
    "footer": {"text": "{{ event.type }} · {{ event.source }} · {{ event.id }}"}
  }],
  "allowed_mentions": {"parse": []}
}`;

/** Message bodies for chats, usable for any event. */
export const PRESETS = { slack: SLACK, teams: TEAMS, discord: DISCORD } as const;
export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = ["slack", "teams", "discord"] as const satisfies readonly PresetName[];
