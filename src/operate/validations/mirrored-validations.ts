import type { Clock } from "../../domain/clock.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { OwnEvents } from "../own-events.ts";
import { createValidationAlerts } from "./validation-alerts.ts";
import { createValidationFolder } from "./validation-folder.ts";
import { createValidationSync, type ValidationSync } from "./validation-sync.ts";
import { openValidations, type Validations, type ValidationsOptions } from "./validations.ts";

/** Validations together with their folder. */
export interface MirroredValidations extends Validations, Pick<ValidationSync, "start" | "stop"> {}

export interface MirroredValidationsOptions extends Omit<ValidationsOptions, "mirror"> {
  clock: Clock;
  folder: string;
  /** Only while it looks at the folder. */
  publishOwn: OwnEvents["publishOwn"];
  logger: Pick<Logger, "warn" | "info">;
}

export async function openMirroredValidations(options: MirroredValidationsOptions): Promise<MirroredValidations> {
  const { clock, folder, publishOwn, logger } = options;
  const validations = await openValidations({ ...options, mirror: (version) => sync.mirror(version) });
  const sync = createValidationSync({
    folder: createValidationFolder(folder),
    validations,
    clock,
    ...createValidationAlerts({ publishOwn, clock, logger }),
    onTrouble: (error, what) => logger.warn({ error, folder }, what),
    onStranger: (file) => logger.warn({ file }, "a file in the folder of validations has no name of an endpoint"),
  });
  return { ...validations, start: sync.start, stop: sync.stop };
}
