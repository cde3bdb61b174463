/**
 * Chromium without a window, driven through a pipe (the DevTools protocol), for pages that people look at: what it lays out
 * can be asked, and what it paints is a picture.
 */
import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { withTemporaryFolder } from "./temporary-folder.ts";

export interface Page {
  /** The value of an expression, evaluated in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** A PNG of what the window shows. */
  screenshot(): Promise<Buffer>;
}

export interface PageSettings {
  readonly scheme: "light" | "dark";
  /** Of the window, CSS pixels. */
  readonly width: number;
  readonly height: number;
}

/** Shows the file with each of the settings in turn. */
export async function withPages(
  file: string,
  settings: readonly PageSettings[],
  use: (page: Page, settings: PageSettings) => Promise<void>,
): Promise<void> {
  await withTemporaryFolder(async (profile) => {
    const args = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`];
    const chromium = spawn("chromium", [...args, "--hide-scrollbars", "--remote-debugging-pipe"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: { ...process.env, HOME: profile },
    });
    const ended = new Promise((resolve) => chromium.once("close", resolve));
    try {
      const browser = new Connection(chromium.stdio[3] as Writable, chromium.stdio[4] as Readable);
      void ended.then(() => browser.fail());
      for (const one of settings) await use(await openPage(browser, file, one), one);
      await browser.send("Browser.close", {});
    } finally {
      chromium.kill("SIGKILL");
      await ended;
    }
  });
}

async function openPage(browser: Connection, file: string, { scheme, width, height }: PageSettings): Promise<Page> {
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const send = async (method: string, params: object): Promise<Answer> =>
    await browser.send(method, params, String(sessionId));
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return (result as { readonly value: T }).value;
  };
  const size = { width, height, deviceScaleFactor: 1, mobile: false };
  await send("Emulation.setDeviceMetricsOverride", size);
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await send("Page.enable", {});
  const loaded = browser.event("Page.loadEventFired", String(sessionId));
  await send("Page.navigate", { url: pathToFileURL(file).href });
  await loaded;
  return {
    evaluate,
    async screenshot() {
      const { data } = await send("Page.captureScreenshot", {});
      return Buffer.from(String(data), "base64");
    },
  };
}

type Answer = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly result?: Answer;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly sessionId?: string;
}

/** Messages of JSON, with a zero byte after each. */
class Connection {
  readonly #out: Writable;
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
  readonly #events: { readonly name: string; readonly resolve: () => void }[] = [];
  #text = "";
  #last = 0;

  constructor(out: Writable, answers: Readable) {
    this.#out = out;
    out.on("error", () => this.fail());
    answers.setEncoding("utf8").on("data", (text: string) => {
      const parts = (this.#text + text).split("\0");
      this.#text = parts.pop() ?? "";
      for (const part of parts) this.#received(JSON.parse(part) as Message);
    });
  }

  send(method: string, params: object, sessionId?: string): Promise<Answer> {
    const id = (this.#last += 1);
    this.#out.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  event(method: string, sessionId: string): Promise<void> {
    return new Promise((resolve) => this.#events.push({ name: `${sessionId} ${method}`, resolve }));
  }

  /** It has ended: nobody answers any more. */
  fail(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("chromium has ended"));
    this.#waiting.clear();
  }

  #received({ id, result, error, method, sessionId }: Message): void {
    if (id === undefined) {
      for (const { name, resolve } of this.#events) if (name === `${sessionId} ${method}`) resolve();
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result ?? {});
    else waiting?.reject(new Error(error.message));
  }
}
