import { useSyncExternalStore } from "react";

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
