import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
import { request } from "./api/client.ts";
import { TRY_AGAIN_MS } from "./api/reachability.ts";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./layout/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/layout.css";
import "./styles/overlays.css";
import "./styles/overview.css";
import "./styles/tables.css";
import "./styles/filters.css";
import "./styles/lists.css";
import "./styles/facts.css";
import "./styles/attempts.css";
import "./styles/json.css";
import "./styles/diff.css";
import "./styles/states.css";
import "./styles/items.css";
import "./styles/operate.css";
import "./styles/manage.css";
import "./styles/forms.css";

applyTheme(readTheme());
// After a rebuild an old page asks for files that are gone: it is loaded again.
addEventListener("vite:preloadError", () => void loadAgain());

/** Longer than any page takes to ask for its scripts. */
const JUST_LOADED_MS = 10_000;

/** Not before the gateway is there: what the browser shows instead would not come back by itself. */
async function loadAgain(): Promise<void> {
  // It did not help a moment ago: what is missing stays missing.
  if (wasLoadedAgain() && performance.now() < JUST_LOADED_MS) return;
  for (;;) {
    const answer = await request("GET", "/livez").catch(() => undefined);
    if (answer !== undefined) return location.reload();
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
}

function wasLoadedAgain(): boolean {
  return performance.getEntriesByType("navigation").some((entry) => "type" in entry && entry.type === "reload");
}

const place = document.getElementById("app");
if (place !== null) {
  createRoot(place).render(
    <CSPProvider disableStyleElements>
      <App />
    </CSPProvider>,
  );
}
