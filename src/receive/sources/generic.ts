import { GENERIC_KIND } from "../../domain/source.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** Any sender: nothing is verified but what the source itself demands, and a request is one event. */
export const GENERIC: PushedSourceKind = { name: GENERIC_KIND, needsSecret: false };

/** Nothing is verified: whoever knows the path may send. */
export const none: PushedSourceKind = { name: "none", needsSecret: false };
