import { GENERIC_KIND } from "../model/source.ts";
import type { PushedSourceKind } from "./source-kind.ts";

/** Any sender: only the source's own checks apply, and a request is one event. */
export const GENERIC: PushedSourceKind = { name: GENERIC_KIND, needsSecret: false };

/** Nothing is verified: anybody who knows the path may send. */
export const none: PushedSourceKind = { name: "none", needsSecret: false, queuedStatus: 202 };
