/**
 * The beginning of the chat templates: sets `title` and `text` for any event, and `tone`, which is `bad`, `good` or
 * `plain`. The texts are shorter than every chat's limit, even if each character counts twice.
 */
export const CHAT_MESSAGE = `
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
