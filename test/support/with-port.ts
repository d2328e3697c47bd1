import type { Store } from "../../src/store/store.ts";

export const PORTS = ["events", "lanes", "records", "reads", "jobs"] as const;
export type Port = (typeof PORTS)[number];

/** A store of which some methods of one port do something else. */
export function withPort<Of extends Pick<Store, Name>, Name extends Port>(
  store: Of,
  port: Name,
  methods: Partial<Store[Name]>,
): Of {
  return { ...store, [port]: { ...store[port], ...methods } };
}
