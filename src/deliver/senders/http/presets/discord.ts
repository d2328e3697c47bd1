import { CHAT_MESSAGE } from "./chat-message.ts";

/**
 * discord.com/developers/docs/resources/webhook#execute-webhook: `content` has 2000 characters at most, an embed's title
 * 256, its description 4096, all of it 6000. Nobody is mentioned, whatever a payload says.
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
