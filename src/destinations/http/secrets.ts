import { createUrlSecrets } from "../url-secrets.ts";
import type { HttpSettings } from "./settings.ts";
import { expandUrl } from "./url-template.ts";

export const HTTP_SECRETS = createUrlSecrets<HttpSettings>({ expand: (url) => expandUrl(url, "source") });
