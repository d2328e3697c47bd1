import { CHAT_MESSAGE } from "./chat-message.ts";

/**
 * docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: a header has 150 characters at most, a section 3000.
 * `text` is what notifications show, in Slack's own markup: so its signs are escaped, and nobody is mentioned.
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
