import { DISCORD } from "./discord.ts";
import { SLACK } from "./slack.ts";
import { TEAMS } from "./teams.ts";

/** Message bodies for chats, usable for any event. */
export const PRESETS = { slack: SLACK, teams: TEAMS, discord: DISCORD } as const;
export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = ["slack", "teams", "discord"] as const satisfies readonly PresetName[];
