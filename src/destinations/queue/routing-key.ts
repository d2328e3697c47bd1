import type { EventContent } from "../../model/event.ts";

/**
 * Routing keys of RabbitMQ, built from a text in which `{event_type}` and similar placeholders stand for values of the
 * event.
 */

const PLACEHOLDER = /\{([^{}]*)\}/g;
/** The limit of AMQP 0-9-1. */
const MAX_BYTES = 255;

export const DEFAULT_ROUTING_KEY = "{event_type}";

const FACTS: Readonly<Record<string, (event: EventContent) => string>> = {
  event_type: ({ type }) => type,
  tenant_id: ({ tenantId }) => tenantId,
  source: ({ source }) => source,
  priority: ({ priority }) => priority,
};

export function findRoutingKeyProblem(template: string): string | undefined {
  for (const [whole, name = ""] of template.matchAll(PLACEHOLDER)) {
    if (Object.hasOwn(FACTS, name)) continue;
    const known = Object.keys(FACTS).map((one) => `{${one}}`);
    return `${whole} is not a placeholder; use one of: ${known.join(", ")}`;
  }
  return undefined;
}

/** Undefined when the key is too long for RabbitMQ. */
export function writeRoutingKey(template: string, event: EventContent): string | undefined {
  const key = template.replaceAll(PLACEHOLDER, (whole, name: string) => FACTS[name]?.(event) ?? whole);
  return Buffer.byteLength(key) <= MAX_BYTES ? key : undefined;
}
