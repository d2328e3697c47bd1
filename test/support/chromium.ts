import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "undici";
import { installPackage, runs } from "./debian.ts";
import { startCommand } from "./run-command.ts";

/** A browser without a window, driven by the DevTools protocol. One page. */
export interface Chromium {
  open(url: string, view: { width: number; height: number }): Promise<void>;
  /** The value of an expression in the page, which may be a promise. */
  evaluate(expression: string): Promise<unknown>;
  /** What the browser complained about: errors, and what the page's policy forbids. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const ADDRESS = "DevTools listening on ";

interface Message {
  id?: number;
  method?: string;
  params?: { entry?: { text: string }; exceptionDetails?: { text: string; exception?: { description?: string } } };
  result?: { result?: { value?: unknown }; exceptionDetails?: { exception?: { description?: string } } };
}

/** Undefined where there is none, and none can be installed. */
export async function openChromium(): Promise<Chromium | undefined> {
  const find = () => NAMES.find((name) => runs(name, "--version"));
  const command = find() ?? (installPackage("chromium") ? find() : undefined);
  if (command === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "posthorn-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  const place = ["--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"];
  const browser = startCommand(command, [...flags, ...place], folder, {});
  await browser.printed(ADDRESS, "stderr");
  const port = /DevTools listening on ws:\/\/[^:]+:(\d+)/.exec(browser.output().stderr)?.[1] ?? "";
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
    type: string;
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl ?? "");
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));

  const complaints: string[] = [];
  const waiting = new Map<number, (result: Message["result"]) => void>();
  let loaded = () => {};
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, method, params, result } = JSON.parse(String(data)) as Message;
    if (id !== undefined) waiting.get(id)?.(result);
    if (method === "Page.loadEventFired") loaded();
    if (method === "Log.entryAdded") complaints.push(params?.entry?.text ?? "");
    if (method === "Runtime.exceptionThrown")
      complaints.push(params?.exceptionDetails?.exception?.description ?? "an error");
  });
  const call = (method: string, params: object = {}) =>
    new Promise<Message["result"]>((resolve) => {
      waiting.set(++last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  for (const domain of ["Page", "Log", "Runtime"]) await call(`${domain}.enable`);

  return {
    complaints,
    async open(url, view) {
      const size = { ...view, deviceScaleFactor: 1, mobile: view.width < 600 };
      await call("Emulation.setDeviceMetricsOverride", size);
      const isLoaded = new Promise<void>((resolve) => (loaded = resolve));
      await call("Page.navigate", { url });
      await isLoaded;
    },
    async evaluate(expression) {
      const result = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      const error = result?.exceptionDetails?.exception?.description;
      if (error !== undefined) throw new Error(error);
      return result?.result?.value;
    },
    async close() {
      const closed = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
      await call("Browser.close");
      await Promise.all([browser.finished, closed]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
