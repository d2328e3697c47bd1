import { Component, type ReactNode } from "react";
import { Button } from "../ui/button.tsx";

/** A page that could not be loaded or shown takes nothing else with it. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return (
      <div className="notice notice-bad" role="alert">
        <span>This page could not be shown: {this.state.error.message}</span>
        <Button onClick={() => location.reload()}>Load again</Button>
      </div>
    );
  }
}
