import type { Plugin } from "./plugin.ts";
import { smartsheet } from "../plugins/smartsheet/plugin.ts";

/** Every plugin, one line each. */
export const PLUGINS: readonly Plugin[] = [smartsheet];
