import { createContext, useContext } from "react";
import type { Session } from "../api/types.ts";

const Current = createContext<Session | undefined>(undefined);

export const SessionProvider = Current.Provider;

/** Who is signed in. Only below the sign-in. */
export function useSession(): Session {
  const session = useContext(Current);
  if (session === undefined) throw new Error("nobody is signed in here");
  return session;
}

/** Whether the page is shown to a partner, who has a link and no key. */
export function useIsPartner(): boolean {
  return (useContext(Current)?.portal ?? null) !== null;
}

/** Whether they may change things; who may not is shown no button for it. */
export function useCanChange(): boolean {
  return useSession().scopes.includes("admin");
}
