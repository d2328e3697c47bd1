import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { sendJson } from "../api/client.ts";
import { sessionQuery, signInWaysQuery } from "../api/queries.ts";
import type { Session } from "../api/types.ts";
import { ADMIN_PAGES } from "../layout/pages.ts";
import { Button } from "../ui/button.tsx";
import { Logo } from "../ui/logo.tsx";
import { takeTokenFromAddress } from "./portal-token.ts";

/** Stays where it is: who signs in again is back where they were. */
export function SignInPage({ reason }: { reason?: string | undefined }) {
  const client = useQueryClient();
  const [isEmpty, setEmpty] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const signIn = useMutation({
    mutationFn: (by: { key: string } | { token: string }) => sendJson<Session>("POST", "/api/v1/session", by),
    onSuccess(session) {
      // What somebody else was shown here is not theirs.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
      client.setQueryData(sessionQuery.queryKey, session);
    },
    onError: () => field.current?.focus(),
  });
  const { mutate } = signIn;
  useEffect(() => {
    const token = takeTokenFromAddress();
    if (token !== undefined) mutate({ token });
  }, [mutate]);
  const error = isEmpty
    ? "Enter a key. The first one was shown when the gateway first started."
    : signIn.error?.message;

  function submit(event: FormEvent): void {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    setEmpty(key === "");
    if (key !== "") mutate({ key });
  }

  return (
    <main className="sign-in">
      <form className="card sign-in-form" onSubmit={submit}>
        <div className="sign-in-head">
          <Logo />
          <h1>Sign in to Posthorn</h1>
        </div>
        {reason !== undefined && <p className="muted">{reason}</p>}
        <label className="field">
          <span>API key</span>
          <input
            ref={field}
            className="input mono"
            type="password"
            name="key"
            autoComplete="current-password"
            placeholder="phk_…"
            aria-invalid={error !== undefined}
            aria-describedby="sign-in-error"
            autoFocus
          />
        </label>
        <p id="sign-in-error" className="error-text" role="alert">
          {error}
        </p>
        <Button kind="primary" type="submit" isBusy={signIn.isPending}>
          Sign in
        </Button>
        <ProviderLink />
        <p className="muted small">
          A key with the scope <code>read</code> changes nothing, and sees all pages but {ADMIN_PAGES.join(", ")}: these
          need <code>admin</code>. A lost key is replaced with <code>posthorn keys create --local</code>.
        </p>
      </form>
    </main>
  );
}

/** To the gateway's sign-in with OpenID Connect, if it has one, and from there back to this page. */
function ProviderLink() {
  const { data } = useQuery(signInWaysQuery);
  if (data === undefined || data.oidc === null) return undefined;
  const { name, url } = data.oidc;
  const here = location.pathname + location.search;
  return (
    <a className="button button-plain" href={`${url}?${new URLSearchParams({ return_to: here }).toString()}`}>
      Sign in with {name}
    </a>
  );
}
