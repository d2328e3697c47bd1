import type { SourceKind } from "./source-kind.ts";

/** Nothing is verified: whoever knows the path may send. */
export const none: SourceKind = { name: "none", needsSecret: false };
