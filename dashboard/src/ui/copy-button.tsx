import { useState } from "react";
import { Button } from "./button.tsx";
import { useToast } from "./toasts.tsx";

const SHOWN_MS = 1500;

export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const toast = useToast();

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    } catch {
      // Browsers give the clipboard to https and to this machine only.
      toast.show("The browser does not allow copying here. Select the text and copy it by hand.");
    }
  }

  return (
    <Button kind="quiet" onClick={() => void copy()}>
      {isCopied ? "Copied" : label}
    </Button>
  );
}
