import { CHAT_MESSAGE } from "./chat-message.ts";

/**
 * discord.com/developers/docs/resources/webhook#execute-webhook: at most 2000 characters for `content`, 256 for an
 * embed's title, 4096 for its description, 6000 in all. No user is ever mentioned, whatever the payload contains.
 */
export const DISCORD = `${CHAT_MESSAGE}
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
