import type { Scope } from "../../api/types.ts";

export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  read: "See everything, change nothing",
  publish: "Publish events",
  admin: "Everything: change, replay, delete, create keys",
};
export const ALL_SCOPES = Object.keys(SCOPE_WORDS) as Scope[];
