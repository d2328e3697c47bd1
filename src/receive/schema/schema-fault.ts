/** What is said of a payload that would take more steps, or more time, than there are. */
export const TOO_LONG = "takes too long to check";

/** Why a schema cannot be used. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}
