import { CHAT_MESSAGE } from "./chat-message.ts";

/**
 * docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: at most 150 characters for a header, 3000 for a
 * section. `text` is shown in notifications, in Slack's own markup: so special characters are escaped and no user is
 * mentioned.
 */
export const SLACK = `${CHAT_MESSAGE}
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
