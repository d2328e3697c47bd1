import { Toast } from "@base-ui/react/toast";
import { createContext, useContext, useMemo, type ReactNode } from "react";

export interface Toaster {
  show(text: string): void;
  fail(error: unknown): void;
}

const Current = createContext<Toaster | undefined>(undefined);

export function useToast(): Toaster {
  const toaster = useContext(Current);
  if (toaster === undefined) throw new Error("there are no toasts here");
  return toaster;
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider timeout={6000}>
      <WithToaster>{children}</WithToaster>
    </Toast.Provider>
  );
}

function WithToaster({ children }: { children: ReactNode }) {
  const manager = Toast.useToastManager();
  const { add } = manager;
  const toaster = useMemo<Toaster>(
    () => ({
      show: (text) => void add({ title: text }),
      fail: (error) => void add({ title: (error as Error).message, type: "error", priority: "high" }),
    }),
    [add],
  );
  return (
    <Current.Provider value={toaster}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          {manager.toasts.map((toast) => (
            <Toast.Root key={toast.id} toast={toast} className={`toast toast-${toast.type ?? "plain"}`}>
              <Toast.Title render={<p />} className="toast-text" />
              <Toast.Close className="button button-quiet" aria-label="Dismiss">
                ✕
              </Toast.Close>
            </Toast.Root>
          ))}
        </Toast.Viewport>
      </Toast.Portal>
    </Current.Provider>
  );
}
