import { createUrlSecrets } from "../url-secrets.ts";
import type { BatchSettings } from "./settings.ts";

/** The same secrets as those of http; a file has none. */
export const BATCH_SECRETS = createUrlSecrets<BatchSettings>({ prefix: "destination." });
