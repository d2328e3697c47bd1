import { Button } from "./button.tsx";

/** In the place of what could not be loaded. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <div className="notice notice-bad" role="alert">
      <span>{error.message}</span>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
