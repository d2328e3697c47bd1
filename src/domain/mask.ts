/** How a secret is shown; never a secret itself. */
export const MASK = "***";
