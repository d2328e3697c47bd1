import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { request } from "../api/client.ts";
import { TRY_AGAIN_MS, useReachable } from "../api/reachability.ts";
import { useToast } from "../ui/toasts.tsx";

const GIVE_UP_MS = 3 * TRY_AGAIN_MS;

/** Says that the gateway is away and asks until it is back; then everything on the page is loaded again. */
export function Unreachable() {
  const isReachable = useReachable();
  const client = useQueryClient();
  const toast = useToast();
  const wasAway = useRef(false);

  useEffect(() => {
    if (isReachable) {
      if (!wasAway.current) return undefined;
      wasAway.current = false;
      toast.show("The gateway is back.");
      void client.invalidateQueries();
      return undefined;
    }
    wasAway.current = true;
    // Browsers open only a few connections: tries that get no answer must not take up all of them.
    const ask = () => request("GET", "/livez", { signal: AbortSignal.timeout(GIVE_UP_MS) }).catch(() => undefined);
    const timer = setInterval(() => void ask(), TRY_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isReachable, client, toast]);

  if (isReachable) return null;
  return (
    <p className="notice notice-bad" role="status">
      The gateway cannot be reached. This page goes on by itself when it is back.
    </p>
  );
}
