import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { subscriptionsQuery } from "../api/queries.ts";
import type { Subscription } from "../api/types.ts";
import { useCanChange, useSession } from "./session.tsx";

/** Whether they may do this with a subscription. Nothing is offered until that is known. */
export function useMay(action: keyof Subscription["can"]): (subscriptionId: string) => boolean {
  const canChange = useCanChange();
  // Operators may do all that their scope allows: nothing need be loaded for them.
  const isOperator = useSession().tenant_id === null;
  const { data, isPending } = useQuery({ ...subscriptionsQuery, enabled: canChange && !isOperator });
  const reserved = useMemo(
    () => new Set(data?.data.filter(({ can }) => !can[action]).map(({ id }) => id)),
    [data, action],
  );
  return (id) => canChange && (isOperator || (!isPending && !reserved.has(id)));
}
