import type { LiveStream } from "../api/use-stream.ts";
import { Button } from "./button.tsx";

const WORDS: Readonly<Record<LiveStream["state"], string>> = {
  connecting: "Connecting …",
  live: "Live",
  reconnecting: "Connection lost, reconnecting …",
  ended: "Not live",
  paused: "Paused",
};

export function LiveControl({ stream }: { stream: LiveStream }) {
  return (
    <>
      <span className={`live live-${stream.state}`} role="status">
        {WORDS[stream.state]}
      </span>
      <Button kind="quiet" onClick={() => stream.setPaused(!stream.isPaused)}>
        {stream.isPaused ? "Go on" : "Pause"}
      </Button>
    </>
  );
}
