import type { ButtonHTMLAttributes } from "react";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "plain" | "quiet" | "danger";
  isBusy?: boolean;
}

export function Button({ kind = "plain", isBusy = false, className = "", type = "button", ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`button button-${kind} ${className}`}
      disabled={rest.disabled === true || isBusy}
      aria-busy={isBusy}
    />
  );
}
