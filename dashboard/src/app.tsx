import { MutationCache, QueryClient, QueryClientProvider, QueryCache, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Redirect, Route, Router, Switch, useLocation } from "wouter";
import { ApiError } from "./api/client.ts";
import { sessionQuery } from "./api/queries.ts";
import { findPage, pagesFor, type PageEntry } from "./layout/pages.ts";
import { PageBoundary } from "./layout/page-boundary.tsx";
import { PageHead, Shell } from "./layout/shell.tsx";
import { applyLook } from "./layout/theme.ts";
import { LinkEnded } from "./session/link-ended.tsx";
import { findPortalToken, isPortal, navigateWithToken, PORTAL_PATH } from "./session/portal-token.ts";
import { SessionProvider, useSession } from "./session/session.tsx";
import { SignInPage } from "./session/sign-in-page.tsx";
import { EmptyState } from "./ui/empty-state.tsx";
import { Failure } from "./ui/failure.tsx";
import { Skeleton } from "./ui/skeleton.tsx";
import { Toasts } from "./ui/toasts.tsx";

const RETRIES = 3;

function createQueryClient(): QueryClient {
  /**
   * The key was revoked, or the session is over: back to the sign-in, which leaves the address as it is. A sign-in that
   * is rejected ends nothing.
   */
  function noticeEnd(error: Error): void {
    const { queryKey } = sessionQuery;
    const wasSignedIn = client.getQueryData(queryKey) !== undefined;
    if (wasSignedIn && error instanceof ApiError && error.isSignedOut) void client.resetQueries({ queryKey });
  }
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, { queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] && noticeEnd(error),
    }),
    mutationCache: new MutationCache({ onError: noticeEnd }),
    defaultOptions: {
      queries: {
        retry: (count, error) =>
          count < RETRIES && error instanceof ApiError && (error.isUnreachable || error.status >= 500),
        refetchOnWindowFocus: false,
      },
    },
  });
  return client;
}

export function App() {
  const [client] = useState(createQueryClient);
  return (
    <QueryClientProvider client={client}>
      <Toasts>
        <Router base={isPortal ? PORTAL_PATH : ""} aroundNav={navigateWithToken}>
          {isPortal && findPortalToken() === undefined ? <LinkEnded /> : <SignedIn />}
        </Router>
      </Toasts>
    </QueryClientProvider>
  );
}

function SignedIn() {
  const { data: session, error, refetch } = useQuery(sessionQuery);
  const look = session?.portal ?? undefined;
  useEffect(() => {
    if (look !== undefined) applyLook(look);
  }, [look]);
  // A key in the place of a link would bring the operator's pages into a frame.
  if (isPortal && session?.portal === null) return <LinkEnded />;
  if (session !== undefined) {
    return (
      <SessionProvider value={session}>
        <Shell>
          <Pages />
        </Shell>
      </SessionProvider>
    );
  }
  if (error === null) return <Skeleton />;
  const isSignedOut = error instanceof ApiError && error.isSignedOut;
  if (isSignedOut) return isPortal ? <LinkEnded /> : <SignInPage />;
  return (
    <main className="sign-in">
      <Failure error={error} onRetry={() => void refetch()} />
    </main>
  );
}

function Pages() {
  const session = useSession();
  const pages = pagesFor(session);
  const [path] = useLocation();
  const first = `/${pages[0]?.page ?? ""}`;
  return (
    <PageBoundary key={path}>
      <Switch>
        {pages.flatMap(({ page, routes }) =>
          Object.entries(routes).map(([path, Page]) => (
            <Route key={page + path} path={`/${page}${path}`} component={Page} />
          )),
        )}
        {["/", "/sign-in"].map((path) => (
          <Route key={path} path={path}>
            <Redirect to={first} replace />
          </Route>
        ))}
        <Route>
          <NoPage
            hidden={pages.some(({ page }) => path.split("/")[1] === page) ? undefined : findPage(path, session)}
          />
        </Route>
      </Switch>
    </PageBoundary>
  );
}

/** There is none at this path, or only for others. */
function NoPage({ hidden }: { hidden: PageEntry | undefined }) {
  if (hidden === undefined) {
    return (
      <>
        <PageHead title="Not found" />
        <EmptyState title="There is no such page">Choose another from the menu.</EmptyState>
      </>
    );
  }
  return (
    <>
      <PageHead title={hidden.label} />
      <EmptyState title="Your key may not see this page">
        Sign in with a key that has the scope admin{hidden.isForOperators === true && " and is bound to no tenant"}.
      </EmptyState>
    </>
  );
}
