/** The error of a payload whose check would exceed its steps or its time. */
export const TOO_LONG = "takes too long to check";

/** Why a schema cannot be used. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}
