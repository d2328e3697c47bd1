import { useSyncExternalStore } from "react";

/** Where lists break their rows into lines, as the styles have it. */
export const NARROW_LIST = "(max-width: 1100px)";

/** Whether a media query of CSS holds now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (notify) => {
      const media = matchMedia(query);
      media.addEventListener("change", notify);
      return () => media.removeEventListener("change", notify);
    },
    () => matchMedia(query).matches,
  );
}
