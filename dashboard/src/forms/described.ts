/** What ties a control to its label, its description and what is wrong with it. */
export interface Described {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean;
  "aria-required": boolean;
}
