/** In the place of the partner portal: the link is too old, was revoked, or is missing. */
export function LinkEnded() {
  return (
    <main className="sign-in">
      <div className="card sign-in-form">
        <h1>This link does not work any more</h1>
        <p className="muted">It has expired or was revoked. Ask for a new one where you got it.</p>
      </div>
    </main>
  );
}
