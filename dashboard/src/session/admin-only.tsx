import type { ReactNode } from "react";
import { EmptyState } from "../ui/empty-state.tsx";
import { useCanChange } from "./session.tsx";

/** For pages that are there to change something. */
export function AdminOnly({ children }: { children: ReactNode }) {
  if (useCanChange()) return children;
  return <EmptyState title="Your key may not change this">Sign in with a key that has the scope admin.</EmptyState>;
}
