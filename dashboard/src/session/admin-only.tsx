import type { ReactNode } from "react";
import { EmptyState } from "../ui/empty-state.tsx";
import { useCanChange, useIsPartner } from "./session.tsx";

/** For pages that are there to change something. */
export function AdminOnly({ children }: { children: ReactNode }) {
  const isPartner = useIsPartner();
  if (useCanChange()) return children;
  if (isPartner) return <EmptyState title="Your link only lets you see">Ask for another where you got it.</EmptyState>;
  return <EmptyState title="Your key may not change this">Sign in with a key that has the scope admin.</EmptyState>;
}
