import { QueryClient, QueryClientProvider, QueryCache, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { ApiError } from "./api/client.ts";
import { sessionQuery } from "./api/queries.ts";
import { pagesFor } from "./layout/pages.ts";
import { PageHead, Shell } from "./layout/shell.tsx";
import { applyAccent } from "./layout/theme.ts";
import { keepPortalToken, takeTokenFromAddress } from "./session/portal-token.ts";
import { SessionProvider, useSession } from "./session/session.tsx";
import { SignInPage } from "./session/sign-in-page.tsx";
import { EmptyState } from "./ui/empty-state.tsx";
import { Failure } from "./ui/failure.tsx";
import { Skeleton } from "./ui/skeleton.tsx";
import { Toasts } from "./ui/toasts.tsx";

const RETRIES = 3;

function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      // The key was revoked, or the session is over: back to the sign-in, which leaves the address as it is.
      onError(error, { queryKey }) {
        const isSession = queryKey[0] === sessionQuery.queryKey[0];
        if (!isSession && error instanceof ApiError && error.isSignedOut) {
          void client.resetQueries({ queryKey: sessionQuery.queryKey });
        }
      },
    }),
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
        <SignedIn />
      </Toasts>
    </QueryClientProvider>
  );
}

function SignedIn() {
  const [path] = useLocation();
  const [isPortal] = useState(() => path.startsWith("/portal") && takePortalToken());
  const { data: session, error, refetch } = useQuery(sessionQuery);
  useEffect(() => applyAccent(session?.portal?.accent), [session]);
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
  if (isSignedOut && isPortal)
    return <EmptyState title="This link has expired">Ask for a new one where you got it.</EmptyState>;
  if (isSignedOut) return <SignInPage />;
  return (
    <main className="sign-in">
      <Failure error={error} onRetry={() => void refetch()} />
    </main>
  );
}

function takePortalToken(): boolean {
  const token = takeTokenFromAddress();
  if (token !== undefined) keepPortalToken(token);
  return true;
}

function Pages() {
  const session = useSession();
  const pages = pagesFor(session);
  const first = `/${pages[0]?.page ?? ""}`;
  return (
    <Switch>
      {pages.flatMap(({ page, routes }) =>
        Object.entries(routes).map(([path, Page]) => (
          <Route key={page + path} path={`/${page}${path}`} component={Page} />
        )),
      )}
      {["/", "/sign-in", "/portal"].map((path) => (
        <Route key={path} path={path}>
          <Redirect to={first} replace />
        </Route>
      ))}
      <Route>
        <PageHead title="Not found" />
        <EmptyState title="There is no such page">Choose another from the menu.</EmptyState>
      </Route>
    </Switch>
  );
}
