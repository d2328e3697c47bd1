import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import { subscriptionsQuery } from "../../api/queries.ts";
import type { Source } from "../../api/types.ts";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { findUsers } from "./source-users.ts";

interface DeleteSourceDialogProps {
  source: Source;
  isPulled: boolean;
  onClose: () => void;
}

export function DeleteSourceDialog({ source, isPulled, onClose }: DeleteSourceDialogProps) {
  const { name, last_request_at: last } = source;
  return (
    <DeleteDialog
      name={name}
      run={() => sendJson("DELETE", `/api/v1/sources/${encodeURIComponent(name)}`)}
      changes={["sources", "source-queues"]}
      goTo="/sources"
      onClose={onClose}
    >
      <p>
        {isPulled
          ? "Nothing is taken from its queue any more: messages wait there."
          : `Senders of /webhook/${name} get 404 from now on. Where any_source is on, their webhooks are accepted without a check.`}{" "}
        Its settings and secrets are gone for good. Its events stay.
      </p>
      <p>
        {last === null ? (
          "Nothing has come from it yet."
        ) : (
          <>
            The latest came <RelativeTime at={last} />.
          </>
        )}
      </p>
      <Users name={name} />
    </DeleteDialog>
  );
}

function Users({ name }: { name: string }) {
  const { data, error } = useQuery(subscriptionsQuery);
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Skeleton lines={1} />;
  const users = findUsers(name, data.data);
  const isCut = data.next_cursor !== null;
  if (users.length === 0)
    return <p>{isCut ? `None of the first ${data.data.length} subscriptions` : "No subscription"} names it.</p>;
  return (
    <>
      <p>These subscriptions name it, and get nothing from it any more:</p>
      <ul>
        {users.map((user) => (
          <li key={user.id}>
            <Link href={`/subscriptions/${encodeURIComponent(user.id)}`}>{user.name}</Link>
          </li>
        ))}
      </ul>
      {isCut && <p className="muted small">Only the first {data.data.length} subscriptions were looked at.</p>}
    </>
  );
}
