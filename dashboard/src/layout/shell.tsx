import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { sendJson } from "../api/client.ts";
import { sessionQuery } from "../api/queries.ts";
import { useSession } from "../session/session.tsx";
import { Button } from "../ui/button.tsx";
import { Logo } from "../ui/logo.tsx";
import { useToast } from "../ui/toasts.tsx";
import { pagesFor } from "./pages.ts";
import { Unreachable } from "./unreachable.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { applyTheme, readTheme, THEMES, type Theme } from "./theme.ts";

/** Navigation at the side, or above on a small screen; the page beside it. */
export function Shell({ children }: { children: ReactNode }) {
  const session = useSession();
  const pages = pagesFor(session);
  const [path] = useLocation();
  // Going to another page closes the menu.
  const [menuOpenAt, setMenuOpenAt] = useState<string>();
  const isMenuOpen = menuOpenAt === path;

  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="side">
        <div className="brand">
          {session.portal === null ? <Logo /> : <Initial of={session.portal.name} />}
          <span className="brand-name">{session.portal?.name ?? "Posthorn"}</span>
          <Button
            kind="quiet"
            className="menu-button"
            aria-expanded={isMenuOpen}
            aria-controls="menu"
            onClick={() => setMenuOpenAt(isMenuOpen ? undefined : path)}
          >
            Menu
          </Button>
        </div>
        <div id="menu" className={`menu ${isMenuOpen ? "menu-open" : ""}`}>
          <nav aria-label="Pages">
            {pages.map(({ page, label, routes }) => (
              <Link
                key={page}
                href={`/${page}`}
                className="nav-link"
                onPointerEnter={() => routes[""]?.preload()}
                onFocus={() => routes[""]?.preload()}
                aria-current={path.split("/")[1] === page ? "page" : undefined}
              >
                {label}
              </Link>
            ))}
          </nav>
          <SideFoot />
        </div>
      </header>
      <main id="content" className="content" tabIndex={-1}>
        <Unreachable />
        {children}
      </main>
      <Shortcuts pages={pages} />
    </div>
  );
}

/** In the place of a logo: partners see the operator's name, not ours. */
function Initial({ of: name }: { of: string }) {
  return (
    <span className="brand-initial" aria-hidden="true">
      {String.fromCodePoint(name.trim().codePointAt(0) ?? 0x20).toUpperCase()}
    </span>
  );
}

function SideFoot() {
  const session = useSession();
  const client = useQueryClient();
  const toast = useToast();
  const [theme, setTheme] = useState(readTheme);

  function choose(chosen: Theme): void {
    applyTheme(chosen);
    setTheme(chosen);
  }

  async function signOut(): Promise<void> {
    try {
      await sendJson("DELETE", "/api/v1/session");
      await client.resetQueries({ queryKey: sessionQuery.queryKey });
    } catch (error) {
      toast.fail(error);
    }
  }

  return (
    <div className="side-foot">
      {(session.portal === null || session.portal.appearance === "system") && (
        <label className="field-row">
          <span>Theme</span>
          <select className="input" value={theme} onChange={({ target }) => choose(target.value as Theme)}>
            {Object.entries(THEMES).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      {session.portal === null && (
        <>
          <a className="nav-link" href="/docs">
            API reference
          </a>
          <Button kind="quiet" className="nav-link" onClick={() => void signOut()}>
            Sign out
          </Button>
          <p className="muted small">
            {session.user === null ? "" : `${session.user.name} · `}
            {session.scopes.join(", ")}
            {session.tenant_id === null ? "" : ` · ${session.tenant_id}`} · {session.version}
          </p>
        </>
      )}
    </div>
  );
}

/** The head of a page: what it is, and what can be done there. */
export function PageHead({ title, children }: { title: ReactNode; children?: ReactNode }) {
  const { portal } = useSession();
  const place = portal?.name ?? "Posthorn";
  useEffect(() => {
    if (typeof title === "string") document.title = `${title} · ${place}`;
  }, [title, place]);
  return (
    <div className="page-head">
      <h1>{title}</h1>
      <div className="page-actions">{children}</div>
    </div>
  );
}
