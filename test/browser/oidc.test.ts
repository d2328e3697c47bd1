import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults, type OpenPage } from "../support/browser.ts";
import { openOidcProvider, type OidcProvider } from "../support/oidc-provider.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let provider: OidcProvider;
let gateway: TestGateway;
/** Another host than the provider's, so that one is another site for the other, as in real life. */
let url: string;
const visits = openVisits();

beforeAll(async () => {
  provider = await openOidcProvider();
  gateway = await startTestGateway({ env: provider.settings });
  url = `http://localhost:${gateway.port}`;
  provider.know(url);
});
afterAll(async () => {
  await gateway.close();
  await provider.close();
});

/** As a person does it: the button, the provider's form, its question. */
async function signIn(path: string, login: string): Promise<OpenPage> {
  const opened = await visits.open(url);
  const { page } = opened;
  await page.goto(path);
  await page.getByRole("link", { name: "Sign in with Acme SSO" }).click();
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  return opened;
}

async function listCookies({ context }: OpenPage): Promise<string[]> {
  const cookies = (await context.cookies(url)).filter(({ name }) => name.startsWith("posthorn"));
  return cookies.map(({ name, httpOnly, sameSite }) => `${name} ${httpOnly ? "HttpOnly" : ""} ${sameSite}`);
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
}

describe("signing in with a provider", () => {
  it("leads an administrator back to the page they wanted, where they can change things, and out again", async () => {
    const opened = await signIn("/tenants?q=a", "ada");
    const { page, complaints } = opened;
    await page.getByRole("heading", { name: "Tenants" }).waitFor();
    expect(new URL(page.url()).href).toBe(`${url}/tenants?q=a`);
    await page.getByText("ada@acme.example · admin").waitFor();
    expect(await listCookies(opened)).toEqual([`posthorn-${gateway.port} HttpOnly Strict`]);
    const status = await page.evaluate(async () => {
      const body = JSON.stringify({ id: "from-the-page" });
      const headers = { "content-type": "application/json" };
      return (await fetch("/api/v1/tenants", { method: "POST", body, headers })).status;
    });
    expect(status).toBe(201);
    await page.goto("/subscriptions");
    await page.getByRole("link", { name: "Create subscription" }).waitFor();
    // The provider's own pages may complain; ours do not.
    expect(complaints.filter((line) => line.includes("Content Security Policy"))).toEqual([]);
    await signOut(page);
    expect(await listCookies(opened)).toEqual([]);
  });

  it("shows a reader everything and no button that changes something", async () => {
    const { page } = await signIn("/keys", "rob");
    await page.getByText("rob@acme.example · read").waitFor();
    await page.goto("/subscriptions");
    await page.getByRole("heading", { name: "Subscriptions", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Create subscription" }).count()).toBe(0);
    const status = await page.evaluate(async () => {
      const body = JSON.stringify({ id: "not-allowed" });
      const headers = { "content-type": "application/json" };
      return (await fetch("/api/v1/tenants", { method: "POST", body, headers })).status;
    });
    expect(status).toBe(403);
  });

  it("tells a user without a mapped group which groups they have, and lets them try again", async () => {
    const opened = await signIn("/events", "eve");
    const { page } = opened;
    await page.getByRole("heading", { name: "No group of the user may sign in" }).waitFor();
    await page.getByText('eve@acme.example is in the groups "guests", "<b>curious</b>"').waitFor();
    expect(await page.locator("b").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    expect(await listCookies(opened)).toEqual([]);
    await page.getByRole("link", { name: "Back to the sign-in" }).click();
    await page.getByLabel("API key").waitFor();
  });

  it("has no barriers on the sign-in page", async () => {
    const opened = await visits.open(url);
    await opened.page.goto("/sign-in");
    await opened.page.getByRole("link", { name: "Sign in with Acme SSO" }).waitFor();
    expect(await findFaults(opened.page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
