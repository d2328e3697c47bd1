import type { PushedSourceKind } from "./source-kind.ts";

/** Nothing is verified: whoever knows the path may send. */
export const none: PushedSourceKind = { name: "none", needsSecret: false };
