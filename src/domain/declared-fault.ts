/** In `details.declared` of an error: what the configuration declares and cannot be used. */
export interface DeclaredFault {
  /** `subscription`, `event type` … */
  noun: string;
  name: string;
  field: string | undefined;
  /** Without what it is about. */
  message: string;
}
