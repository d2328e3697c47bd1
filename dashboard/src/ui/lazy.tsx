import { useEffect, useState, type ComponentType } from "react";
import { Skeleton } from "./skeleton.tsx";

/** A part of the page whose script is loaded when it is first shown, or when somebody is about to open it. */
export type LazyComponent<Props extends object = object> = ComponentType<Props> & { preload: () => void };

/**
 * In place of React's own, which keeps the placeholder for 300 ms once it has shown it: longer than the script and the
 * data of most pages take together.
 */
export function lazy<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  lines = 8,
): LazyComponent<Props> {
  let Loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;

  function start(): Promise<void> {
    loading ??= load().then(
      (module) => {
        Loaded = module.default;
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  }

  function Lazy(props: Props) {
    const [isLoaded, setLoaded] = useState(Loaded !== undefined);
    useEffect(() => {
      if (isLoaded) return undefined;
      let isShown = true;
      start().then(
        () => isShown && setLoaded(true),
        // For the component that catches errors of others.
        (error: unknown) => isShown && setLoaded(() => throwIt(error)),
      );
      return () => {
        isShown = false;
      };
    }, [isLoaded]);
    return Loaded === undefined ? <Skeleton lines={lines} /> : <Loaded {...props} />;
  }

  return Object.assign(Lazy, { preload: () => void start().catch(() => undefined) });
}

function throwIt(error: unknown): never {
  throw error;
}
