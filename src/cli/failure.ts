import { ERRORS, PosthornError } from "../model/errors.ts";

/** Why a command fails: one line for people, and an exit code for scripts. */

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_CONFIGURATION = 3;
/** The exit code of a shell for a command ended by Ctrl+C. */
export const EXIT_INTERRUPTED = 130;

export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: number;
  /** The member of the request that the gateway complains of. */
  readonly field: string | undefined;

  constructor(message: string, exitCode: number = EXIT_FAILED, field?: string) {
    super(message);
    this.exitCode = exitCode;
    this.field = field;
  }
}

export class ReportedFailure extends CommandFailure {
  constructor(exitCode: number = EXIT_FAILED) {
    super("", exitCode);
  }
}

/** The hint to the command's help is added where the command is known. */
export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(message, EXIT_USAGE);
}

export function findExitCode(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  return error instanceof PosthornError ? (ERRORS[error.code].exitCode ?? EXIT_FAILED) : EXIT_FAILED;
}

export function describeFailure(error: unknown): string {
  if (error instanceof CommandFailure || error instanceof PosthornError) return error.message;
  // A bug of ours: the report needs the stack.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
