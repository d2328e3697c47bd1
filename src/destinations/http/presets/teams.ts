import { CHAT_MESSAGE } from "./chat-message.ts";

/**
 * learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors: a webhook of Workflows accepts only Adaptive
 * Cards, of at most 28 KB. Unlike other blocks, a rich text block does not interpret Markdown.
 */
export const TEAMS = `${CHAT_MESSAGE}
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
