import type { ButtonHTMLAttributes } from "react";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "plain" | "quiet" | "danger";
  isBusy?: boolean;
}

export function Button({ kind = "plain", isBusy = false, className = "", type = "button", ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      // oxlint-disable-next-line react/button-has-type -- it always has one: see the default
      type={type}
      className={`button button-${kind} ${className}`}
      disabled={rest.disabled === true || isBusy}
      aria-busy={isBusy}
    />
  );
}
