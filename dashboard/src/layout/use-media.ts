import { useSyncExternalStore } from "react";

/** Where lists break their rows into lines, as the styles have it. */
export const NARROW_LIST = "(max-width: 1100px)";

/** Whether a media query of CSS holds now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (tell) => {
      const media = matchMedia(query);
      media.addEventListener("change", tell);
      return () => media.removeEventListener("change", tell);
    },
    () => matchMedia(query).matches,
  );
}
