import type { ReceivedRequest } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { formatBytes } from "../../ui/numbers.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { explain } from "./causes.ts";

/** On the page of all sources, and on that of one. */
export function RequestItems({ requests }: { requests: readonly ReceivedRequest[] }) {
  return (
    <Items label="Requests">
      {requests.map((request) => {
        const explanation = explain(request);
        return (
          <Item
            key={request.id}
            title={explanation?.title ?? "Accepted"}
            href={`/requests/${encodeURIComponent(request.id)}`}
            badges={
              <>
                <Badge state={request.outcome} />
                {request.replayed_at !== null && <Badge state="replayed" tone="good" />}
              </>
            }
            note={
              <>
                <span className="mono">
                  {request.method} {request.path}
                </span>
                <span>from {request.remote_address}</span>
                <span>{formatBytes(request.size)}</span>
              </>
            }
            figure={<RelativeTime at={request.received_at} />}
          />
        );
      })}
    </Items>
  );
}
