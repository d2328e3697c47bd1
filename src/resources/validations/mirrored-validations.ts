import type { Clock } from "../../model/clock.ts";
import type { Logger } from "../../telemetry/logger.ts";
import { createValidationFolder } from "./validation-folder.ts";
import { createValidationSync, type ValidationSync, type ValidationSyncOptions } from "./validation-sync.ts";
import { openValidations, type Validations, type ValidationsOptions } from "./validations.ts";

/** A file whose content is not in force, and why. */
export interface BrokenFile {
  name: string;
  endpoint: string;
  reason: string;
}

/** The validations together with their folder. */
export interface MirroredValidations extends Validations, Pick<ValidationSync, "start" | "stop"> {
  /** Files in the folder that differ from the validation in force. */
  listBroken(): readonly BrokenFile[];
}

export interface MirroredValidationsOptions extends Omit<ValidationsOptions, "mirror"> {
  clock: Clock;
  folder: string;
  /** Called when the result of `listBroken` has changed. */
  onBrokenChange: () => void;
  logger: Pick<Logger, "warn" | "info">;
}

export async function openMirroredValidations(options: MirroredValidationsOptions): Promise<MirroredValidations> {
  const { clock, folder, logger } = options;
  const broken = new Map<string, BrokenFile>();
  const validations = await openValidations({ ...options, mirror: (version) => sync.mirror(version) });
  const sync = createValidationSync({
    folder: createValidationFolder(folder),
    validations,
    clock,
    ...createBrokenNotes(broken, options),
    onTrouble: (error, what) => logger.warn({ error, folder }, what),
    onStranger: (file) =>
      logger.warn({ file }, "a file in the folder of validations does not have the name of an endpoint"),
  });
  return { ...validations, start: sync.start, stop: sync.stop, listBroken: () => [...broken.values()] };
}

function createBrokenNotes(
  broken: Map<string, BrokenFile>,
  { logger, onBrokenChange }: Pick<MirroredValidationsOptions, "logger" | "onBrokenChange">,
): Pick<ValidationSyncOptions, "onBroken" | "onMended"> {
  return {
    onBroken({ endpoint }, name, reason) {
      logger.warn(
        { file: name, endpoint, reason },
        "a validation file cannot be used, the previous one stays in force",
      );
      broken.set(name, { name, endpoint, reason });
      onBrokenChange();
    },
    onMended({ endpoint }, name) {
      logger.info({ file: name, endpoint }, "a validation file can be used again");
      broken.delete(name);
      onBrokenChange();
    },
  };
}
