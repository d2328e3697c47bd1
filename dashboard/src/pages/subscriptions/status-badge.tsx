import type { Subscription } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";

/** As people say it: who pauses a subscription looks for it under "paused". */
const WORDS: Readonly<Record<Subscription["status"], string>> = {
  active: "active",
  inactive: "paused",
  suspended: "suspended",
};

export function StatusBadge({ status }: { status: string }) {
  return <Badge state={(WORDS as Readonly<Record<string, string>>)[status] ?? status} />;
}
