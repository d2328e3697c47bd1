import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

/** Many frames come at once; what they have changed is asked for again once for all of them. */
const GATHERED_MS = 300;

export function useInvalidation(): (...queryKeys: QueryKey[]) => void {
  const client = useQueryClient();
  const gathered = useRef(new Map<string, QueryKey>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  function invalidateGathered(): void {
    timer.current = undefined;
    const taken = [...gathered.current.values()];
    gathered.current.clear();
    for (const queryKey of taken) void client.invalidateQueries({ queryKey });
  }

  return (...queryKeys) => {
    for (const queryKey of queryKeys) gathered.current.set(JSON.stringify(queryKey), queryKey);
    timer.current ??= setTimeout(invalidateGathered, GATHERED_MS);
  };
}
