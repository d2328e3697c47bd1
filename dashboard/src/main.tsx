import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
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
// After a rebuild an old page asks for files that are gone: it is loaded again, once.
addEventListener("vite:preloadError", () => location.reload());

const place = document.getElementById("app");
if (place !== null) {
  createRoot(place).render(
    <CSPProvider disableStyleElements>
      <App />
    </CSPProvider>,
  );
}
