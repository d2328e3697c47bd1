import { ApiError } from "../api/client.ts";
import { Button } from "./button.tsx";

/** In the place of what could not be loaded. What is not there is not there a second time either. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <div className="notice notice-bad" role="alert">
      <span>{error.message}</span>
      {onRetry !== undefined && !isMissing(error) && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

function isMissing(error: Error): boolean {
  return error instanceof ApiError && error.status === 404;
}
