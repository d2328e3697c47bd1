import type { Clock } from "../../domain/clock.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { OwnEvents } from "../own-events.ts";
import { createValidationFolder } from "./validation-folder.ts";
import { createValidationSync, type ValidationSync, type ValidationSyncOptions } from "./validation-sync.ts";
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

type Alerts = Pick<ValidationSyncOptions, "onBroken" | "onMended">;

/** Tells whoever subscribes to alerts that a file in the folder of validations is not what is in force. */
function createValidationAlerts(parts: {
  publishOwn: OwnEvents["publishOwn"];
  clock: Pick<Clock, "wall">;
  logger: Pick<Logger, "warn" | "info">;
}): Alerts {
  const { publishOwn, clock, logger } = parts;
  const since = new Map<string, string>();
  const code = "validation_broken";

  return {
    onBroken({ endpoint }, name, reason) {
      logger.warn({ file: name, endpoint, reason }, "a validation file cannot be used, the one before stays in force");
      const firedAt = since.get(name) ?? new Date(clock.wall()).toISOString();
      since.set(name, firedAt);
      void publishOwn({
        type: "alert.fired",
        tenantId: DEFAULT_TENANT,
        data: {
          code,
          subject: name,
          endpoint,
          reason,
          since: firedAt,
          action_required: "Correct the file, or delete it; until then the validation before stays in force",
        },
      });
    },
    onMended({ endpoint }, name) {
      logger.info({ file: name, endpoint }, "a validation file can be used again");
      const clearedAt = new Date(clock.wall()).toISOString();
      const data = { code, subject: name, endpoint, since: since.get(name) ?? clearedAt, cleared_at: clearedAt };
      since.delete(name);
      void publishOwn({ type: "alert.cleared", tenantId: DEFAULT_TENANT, data });
    },
  };
}
