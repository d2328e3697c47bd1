/** In `details.declared` of an error: a declaration in the configuration that cannot be used. */
export interface DeclaredFault {
  /** `subscription`, `event type` … */
  noun: string;
  name: string;
  field: string | undefined;
  /** Without the noun and the name. */
  message: string;
}
