import { lazy, Suspense } from "react";
import { Skeleton } from "../ui/skeleton.tsx";
import type { CodeEditorProps } from "./code-editor.tsx";

const CodeEditor = lazy(() => import("./code-editor.tsx").then((module) => ({ default: module.CodeEditor })));

/** Loads the editor when one is opened first. */
export function LazyCodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <CodeEditor {...props} />
    </Suspense>
  );
}
